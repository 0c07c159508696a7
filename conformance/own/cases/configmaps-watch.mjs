// Watches, lists in pages, bookmarks, and what is read at which version.
import {
  anything,
  apps,
  cm,
  crd,
  deployment,
  install,
  ns,
  objectSchema,
  pod,
  silent,
  steps,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const configMaps = `${ns}/configmaps`;

const saveVersion = { save: { rv: (b) => b.metadata.resourceVersion }, silent: true };

const ownObjects = { fieldSelector: "metadata.name!=kube-root-ca.crt" };

export default [
  test("ConfigMap watch: invalid options and unknown resources", (t) =>
    t
      .watch(configMaps, { query: { resourceVersion: "x" }, events: 1 })
      .watch(configMaps, { query: { labelSelector: "a in (" }, events: 1 })
      .watch(configMaps, { query: { fieldSelector: "data.k=1" }, events: 1 })
      .watch(configMaps, { query: { resourceVersionMatch: "Exact", resourceVersion: "1" }, events: 1 })
      .watch(configMaps, { query: { sendInitialEvents: "true" }, events: 1 })
      .watch(configMaps, { query: { sendInitialEvents: "true", resourceVersionMatch: "Exact" }, events: 1 })
      .post(configMaps, cm("a"), saveVersion)
      .watch(configMaps, {
        query: {
          sendInitialEvents: "false",
          resourceVersionMatch: "NotOlderThan",
          resourceVersion: "$rv",
          timeoutSeconds: "1",
        },
        events: 1,
      })
      .watch(`${ns}/nothing`, { events: 1 })
      .watch(configMaps, { query: { timeoutSeconds: "x" }, events: 1 })
      .watch(configMaps, {
        query: { limit: "1", timeoutSeconds: "1", ...ownObjects },
        events: 1,
      })
      .watch(configMaps, { query: { continue: "x" }, events: 1 })),
  test("ConfigMap watch: the server ends it, with and without bookmarks", (t) =>
    t
      .post(configMaps, cm("a"), saveVersion)
      .watch(configMaps, {
        query: { resourceVersion: "$rv", timeoutSeconds: "1", ...ownObjects },
        events: 3,
      })
      .watch(configMaps, {
        query: { resourceVersion: "$rv", timeoutSeconds: "1", allowWatchBookmarks: "true", ...ownObjects },
        events: 3,
      })),
  test("ConfigMap watch: from a resourceVersion of the future", (t) =>
    t.watch(configMaps, {
      query: { resourceVersion: "99999999999", timeoutSeconds: "1", ...ownObjects },
      events: 1,
    })),
  test("ConfigMap watch: from resourceVersion 0", (t) =>
    t
      .post(configMaps, cm("a"), silent)
      .post(configMaps, cm("b"), silent)
      .watch(configMaps, {
        query: { resourceVersion: "0", ...ownObjects },
        events: 3,
        during: steps((s) => s.del(`${configMaps}/b`, silent)),
      })),
  test("ConfigMap watch: every kind of write", (t) =>
    t.post(configMaps, cm("a", { k: "1" }), saveVersion).watch(configMaps, {
      query: { resourceVersion: "$rv", ...ownObjects },
      events: 6,
      managed: true,
      during: steps((s) =>
        s
          .merge(`${configMaps}/a`, { data: { k: "2" } }, silent)
          .put(`${configMaps}/a`, cm("a", { k: "3" }), silent)
          .apply(`${configMaps}/a`, cm("a", { z: "1" }), "m", silent)
          .json(`${configMaps}/a`, [{ op: "remove", path: "/data/z" }], silent)
          .strategic(`${configMaps}/a`, { data: { k: null } }, silent)
          .merge(`${configMaps}/a`, {}, silent)
          .del(`${configMaps}/a`, silent),
      ),
    })),
  test("ConfigMap watch: deletion with a finalizer", (t) =>
    t.post(configMaps, cm("a", {}, { finalizers: ["a.b/c"] }), saveVersion).watch(configMaps, {
      query: { resourceVersion: "$rv", ...ownObjects },
      events: 3,
      during: steps((s) =>
        s
          .del(`${configMaps}/a`, silent)
          .merge(`${configMaps}/a`, { metadata: { labels: { x: "y" } } }, silent)
          .merge(`${configMaps}/a`, { metadata: { finalizers: null } }, silent),
      ),
    })),
  test("ConfigMap watch: deletion of a collection", (t) =>
    t
      .post(configMaps, cm("a", {}, { labels: { x: "1" } }), silent)
      .post(configMaps, cm("b", {}, { labels: { x: "1" } }), silent)
      .post(configMaps, cm("c"), saveVersion)
      .watch(configMaps, {
        query: { resourceVersion: "$rv", ...ownObjects },
        events: 2,
        during: steps((s) =>
          s.step({ method: "DELETE", path: configMaps, query: { labelSelector: "x=1" }, silent: true }),
        ),
      })),
  test(
    "Pod watch: pods that begin or cease to match a field selector",
    (t) =>
      t.post(`${ns}/pods`, pod("p"), saveVersion).watch(`${ns}/pods`, {
        query: { resourceVersion: "$rv", fieldSelector: "status.phase=Running" },
        events: 3,
        during: steps((s) =>
          s
            .merge(`${ns}/pods/p/status`, { status: { phase: "Running" } }, silent)
            .merge(`${ns}/pods/p`, { metadata: { labels: { a: "b" } } }, silent)
            .merge(`${ns}/pods/p/status`, { status: { phase: "Failed" } }, silent),
        ),
      }),
    { account: true },
  ),
  test("ConfigMap watch: one name, and the old path", (t) =>
    t
      .post(configMaps, cm("a"), silent)
      .watch(`${configMaps}/a`, {
        query: {},
        events: 2,
        during: steps((s) => s.post(configMaps, cm("b"), silent).del(`${configMaps}/a`, silent)),
      })
      .watch(`/api/v1/watch/namespaces/$NS/configmaps/b`, { query: { watch: undefined }, events: 1 })),
  test("ConfigMap watch: tables and metadata only", (t) =>
    t
      .post(configMaps, cm("a", { k: "v" }), silent)
      .watch(configMaps, {
        query: { ...ownObjects },
        events: 2,
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
        during: steps((s) => s.post(configMaps, cm("b"), silent)),
      })
      .watch(configMaps, {
        query: { ...ownObjects },
        events: 2,
        accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
      })
      .watch(configMaps, {
        query: { ...ownObjects },
        events: 1,
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
      })
      .watch(configMaps, {
        query: { ...ownObjects, includeObject: "None" },
        events: 1,
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      })
      .watch(configMaps, { query: { ...ownObjects }, events: 1, accept: "text/plain" })),
  test("Widget watch: spec and status", (t) => {
    install(
      t,
      crd(
        objectSchema({ spec: objectSchema({ a: { type: "integer", default: 1 } }), status: anything }),
        {},
        { subresources: { status: {} } },
      ),
    );
    t.post(widgets, widget("w", { spec: {} }), saveVersion)
      .watch(widgets, {
        query: { resourceVersion: "$rv" },
        events: 3,
        during: steps((s) =>
          s
            .merge(`${widgets}/w`, { spec: { a: 2 } }, silent)
            .merge(`${widgets}/w/status`, { status: { b: 1 } }, silent)
            .del(`${widgets}/w`, silent),
        ),
      })
      .watch(widgets, {
        query: { fieldSelector: "metadata.name=q", timeoutSeconds: "1" },
        events: 1,
      });
  }),
  test("Deployment watch: a write of scale", (t) =>
    t.post(`${apps}/deployments`, deployment("d"), saveVersion).watch(`${apps}/deployments`, {
      query: { resourceVersion: "$rv" },
      events: 1,
      managed: true,
      during: steps((s) => s.merge(`${apps}/deployments/d/scale`, { spec: { replicas: 4 } }, silent)),
    })),
  test("ConfigMap list: pages, limits and tokens of other lists", (t) => {
    for (const n of ["a", "b", "c", "d"]) t.post(configMaps, cm(n, {}, { labels: { s: "y" } }), silent);
    const selected = { labelSelector: "s=y" };
    t.list(configMaps, { ...selected, limit: "3" }, { save: { next: (b) => b.metadata.continue } })
      .list(configMaps, { ...selected, limit: "3", continue: "$next" })
      .list(configMaps, { ...selected, continue: "$next" })
      .list(configMaps, { ...selected, limit: "0" }, { pick: (b) => b.items.length })
      .list(configMaps, { ...selected, limit: "-1" })
      .list(configMaps, { ...selected, limit: "x" })
      .list(configMaps, { ...selected, limit: "3", continue: "$next", resourceVersion: "1" })
      .list(
        configMaps,
        { ...selected, limit: "3", continue: "$next", resourceVersion: "0" },
        { pick: (b) => b.items?.length ?? b },
      )
      .list(configMaps, {
        ...selected,
        limit: "3",
        continue: "$next",
        resourceVersionMatch: "Exact",
        resourceVersion: "1",
      })
      .list(`${ns}/secrets`, { limit: "3", continue: "$next" }, { pick: (b) => b.items?.length ?? b })
      .list(configMaps, { labelSelector: "s=n", limit: "1" })
      .list(
        configMaps,
        { ...selected, limit: "2", resourceVersion: "0" },
        { pick: (b) => [b.items.length, b.metadata] },
      )
      .list(configMaps, { ...selected, limit: "4" })
      .list(configMaps, { ...selected, limit: "5" }, { pick: (b) => b.metadata })
      .list(configMaps, { limit: "1", ...ownObjects }, { pick: (b) => b.metadata });
  }),
  test("ConfigMap list: the version that is read", (t) =>
    t
      .post(configMaps, cm("a", { k: "1" }), {
        save: { one: (b) => b.metadata.resourceVersion },
        silent: true,
      })
      .merge(
        `${configMaps}/a`,
        { data: { k: "2" } },
        { save: { two: (b) => b.metadata.resourceVersion }, silent: true },
      )
      .list(configMaps, { ...ownObjects, resourceVersion: "$one" })
      .list(configMaps, { ...ownObjects, resourceVersion: "$one", resourceVersionMatch: "Exact" })
      .list(configMaps, { ...ownObjects, resourceVersion: "$one", resourceVersionMatch: "NotOlderThan" })
      .list(configMaps, { ...ownObjects, resourceVersion: "$one", limit: "1" })
      .list(configMaps, { ...ownObjects, resourceVersion: "$two", resourceVersionMatch: "Exact", limit: "5" })
      .list(configMaps, { ...ownObjects, resourceVersion: "0", resourceVersionMatch: "Exact" })
      .list(configMaps, { ...ownObjects, resourceVersion: "0", resourceVersionMatch: "NotOlderThan" })
      .list(configMaps, { ...ownObjects, resourceVersion: "1", resourceVersionMatch: "Bogus" })
      .list(configMaps, { ...ownObjects, resourceVersionMatch: "NotOlderThan" })
      .list(configMaps, { ...ownObjects, sendInitialEvents: "true" })
      .get(`${configMaps}/a`, { query: { resourceVersion: "0" } })
      .get(`${configMaps}/a`, { query: { resourceVersion: "$one" } })
      .get(`${configMaps}/a`, { query: { resourceVersion: "x" } })
      .get(`${configMaps}/a`, { query: { resourceVersion: "99999999999" }, timeoutMs: 15000 })
      .list(configMaps, { ...ownObjects, resourceVersion: "-1" })),
  test("ConfigMap list: label and field selectors", (t) => {
    t.post(configMaps, cm("a", {}, { labels: { x: "1", y: "a-b.c_d" } }), silent)
      .post(configMaps, cm("b", {}, { labels: { x: "2" } }), silent)
      .post(configMaps, cm("c", {}, { labels: { x: "" } }), silent);
    const namesOnly = { pick: (b) => b.items?.map((i) => i.metadata.name) ?? b };
    for (const l of [
      "x",
      "!x,y",
      "x=",
      "x in ()",
      "x in (1,)",
      "x notin (1)",
      "x!=1,x",
      "x==1",
      "x=1,y",
      "x in (1, 2 )",
      " x = 1 ",
      "x>0",
      "x<2",
      "x>a",
      "x=1 ,",
      ",",
      "x,,y",
      "X=1",
      "x=bad value",
      "-x",
      "a/b/c=1",
      "x in 1",
      "x exists",
      "y=a-b.c_d",
      "x in (1),y notin (z)",
      "(x)",
      "x=1;y=2",
      "kubernetes.io/x!=1,x",
    ])
      t.list(configMaps, { labelSelector: l, ...ownObjects }, namesOnly);
    for (const f of [
      "metadata.name=a",
      "metadata.name==a",
      "metadata.name!=a,metadata.name!=kube-root-ca.crt",
      "metadata.name",
      "metadata.name=a,metadata.name=b",
      "metadata.namespace=zz",
      "metadata.uid=1",
      "=a",
      "metadata.name=a\\,b",
      "metadata.name>a",
      "metadata.labels=x",
      ",",
      "metadata.name=",
    ])
      t.list(configMaps, { fieldSelector: f }, namesOnly);
  }),
];
