// Watches: selectors, options, forms, deletions.
import {
  anything,
  cm,
  crd,
  install,
  ns,
  objectSchema,
  pod,
  silent,
  steps,
  test,
  widget,
  widgets,
} from "../_lib.mjs";
import { asMetadata, asTable, configMaps, createFive } from "./_builders.mjs";

export default [
  test("ConfigMap watch: events and where a watch starts", (t) => {
    createFive(t);
    t.watch(configMaps, {
      query: { resourceVersion: "$Re" },
      events: 4,
      during: steps((s) =>
        s
          .merge(`${configMaps}/c0`, { data: { z: "1" } }, silent)
          .merge(`${configMaps}/c0`, { data: { z: "1" } }, silent)
          .post(configMaps, cm("new", {}), silent)
          .del(`${configMaps}/c1`, silent)
          .put(`${configMaps}/c2`, cm("c2", { q: "1" }), silent),
      ),
    })
      .watch(configMaps, { query: { resourceVersion: "0" }, events: 5 })
      .watch(configMaps, { query: {}, events: 5 })
      .watch(configMaps, { query: { resourceVersion: "99999999" }, events: 1, timeoutMs: 1500 })
      .watch(configMaps, { query: { resourceVersion: "x" }, events: 1 });
  }),
  test("ConfigMap watch: objects that begin or cease to match a selector", (t) => {
    createFive(t);
    t.watch(configMaps, {
      query: { resourceVersion: "$Re", labelSelector: "parity=even" },
      events: 5,
      during: steps((s) =>
        s
          .merge(`${configMaps}/c0`, { metadata: { labels: { parity: "odd" } } }, silent)
          .merge(`${configMaps}/c1`, { metadata: { labels: { parity: "even" } } }, silent)
          .merge(`${configMaps}/c3`, { data: { z: "1" } }, silent)
          .merge(`${configMaps}/c2`, { data: { z: "1" } }, silent)
          .del(`${configMaps}/c2`, silent)
          .del(`${configMaps}/c3`, silent)
          .del(`${configMaps}/c4`, silent),
      ),
    })
      .watch(configMaps, { query: { resourceVersion: "$Re", fieldSelector: "metadata.name=c4" }, events: 1 })
      .watch(configMaps, { query: { labelSelector: "a b" }, events: 1 })
      .watch(configMaps, { query: { fieldSelector: "bogus=1" }, events: 1 })
      .watch(configMaps, { query: { fieldSelector: "metadata.name=c1" }, events: 1 });
  }),
  test("ConfigMap watch: options, valid and invalid", (t) => {
    createFive(t);
    for (const o of [
      { limit: "1", resourceVersion: "$Re" },
      { continue: "x" },
      { resourceVersionMatch: "Exact", resourceVersion: "$Re" },
      { resourceVersionMatch: "NotOlderThan", resourceVersion: "$Re" },
      { sendInitialEvents: "true" },
      { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" },
      { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: "true" },
      {
        sendInitialEvents: "false",
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: "true",
        resourceVersion: "$Re",
      },
      { sendInitialEvents: "true", resourceVersionMatch: "Exact", allowWatchBookmarks: "true" },
      {
        sendInitialEvents: "true",
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: "true",
        resourceVersion: "0",
      },
      {
        sendInitialEvents: "true",
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: "true",
        labelSelector: "n=1",
      },
      { sendInitialEvents: "x" },
      { timeoutSeconds: "x" },
      { watch: "x" },
      { allowWatchBookmarks: "true", resourceVersion: "$Re", timeoutSeconds: "1" },
    ])
      t.watch(configMaps, { query: o, events: 7, timeoutMs: 3000 });
  }),
  test("ConfigMap watch: tables, metadata only, one name, the old path", (t) => {
    createFive(t);
    t.watch(configMaps, { query: { resourceVersion: "0" }, accept: asTable, events: 5 })
      .watch(configMaps, {
        query: { resourceVersion: "0", includeObject: "None" },
        accept: asTable,
        events: 2,
      })
      .watch(configMaps, { query: { resourceVersion: "0" }, accept: asMetadata, events: 2 })
      .watch(`${configMaps}/c0`, { query: {}, events: 1 })
      .watch(`/api/v1/watch/namespaces/$NS/configmaps`, {
        query: { resourceVersion: "0", x: "y" },
        events: 2,
      })
      .watch(`/api/v1/watch/namespaces/$NS/configmaps/c1`, { query: { resourceVersion: "0" }, events: 1 });
  }),
  test(
    "ConfigMap watch: deletions with finalizers and grace",
    (t) => {
      t.post(configMaps, cm("f", {}, { finalizers: ["a.b/c"] }), {
        silent: true,
        save: { RV: (b) => b.metadata.resourceVersion },
      })
        .watch(configMaps, {
          query: { resourceVersion: "$RV" },
          events: 3,
          during: steps((s) =>
            s
              .del(`${configMaps}/f`, silent)
              .merge(`${configMaps}/f`, { metadata: { labels: { a: "b" } } }, silent)
              .merge(`${configMaps}/f`, { metadata: { finalizers: null } }, silent),
          ),
        })
        .post(`${ns}/pods`, pod("p", { nodeName: "n" }), {
          silent: true,
          save: { RV: (b) => b.metadata.resourceVersion },
        })
        .watch(`${ns}/pods`, {
          query: { resourceVersion: "$RV" },
          events: 3,
          during: steps((s) =>
            s
              .del(`${ns}/pods/p`, silent)
              .del(`${ns}/pods/p`, { silent: true, body: { gracePeriodSeconds: 0 } }),
          ),
        })
        .post(`${ns}/pods`, pod("q"), { silent: true, save: { RV: (b) => b.metadata.resourceVersion } })
        .watch(`${ns}/pods`, {
          query: { resourceVersion: "$RV" },
          events: 3,
          during: steps((s) => s.del(`${ns}/pods/q`, silent)),
        });
    },
    { account: true },
  ),
  test("Widget watch: spec, status and tables", (t) => {
    install(
      t,
      crd(
        objectSchema({ spec: anything, status: anything }),
        {},
        {
          subresources: { status: {} },
          additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.a" }],
        },
      ),
    );
    t.post(widgets, widget("w", { spec: { a: "1" } }), {
      silent: true,
      save: { RV: (b) => b.metadata.resourceVersion },
    })
      .watch(widgets, {
        query: { resourceVersion: "$RV" },
        events: 3,
        during: steps((s) =>
          s
            .merge(`${widgets}/w`, { spec: { a: "2" } }, silent)
            .merge(`${widgets}/w/status`, { status: { b: "2" } }, silent)
            .merge(`${widgets}/w/status`, { status: { b: "2" } }, silent)
            .del(`${widgets}/w`, silent),
        ),
      })
      .post(widgets, widget("x", { spec: { a: "1" } }), silent)
      .watch(widgets, { query: { resourceVersion: "0" }, accept: asTable, events: 1 })
      .watch(widgets, { query: { resourceVersion: "0" }, accept: asMetadata, events: 1 });
  }),
];
