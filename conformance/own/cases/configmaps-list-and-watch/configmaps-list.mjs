// Lists: selectors, pages, resource versions, forms.
import { cm, silent, test } from "../_lib.mjs";
import { asMetadata, asTable, configMaps, createFive } from "./_builders.mjs";

const asMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

export default [
  test("ConfigMap list: label selectors, valid and invalid", (t) => {
    createFive(t);
    for (const s of [
      "parity=even",
      "parity==odd",
      "parity!=even",
      "n in (1,2)",
      "n notin (1,2)",
      "parity",
      "!parity",
      "!zz",
      "n>2",
      "n<2",
      "parity=even,n!=0",
      "",
      " ",
      "parity = even",
      "parity in (even",
      "parity=",
      "=even",
      "a b",
      "parity in ()",
      "parity in (even),",
      ",",
      "parity!",
      "n>x",
      "bad key=1",
      "-x=1",
      "x=-y",
      "parity=even;n=1",
      "zz notin (a)",
      "n gt 2",
      "(a)",
      "a=b=c",
      "parity in (even,odd),n in (0,1,3)",
    ])
      t.list(
        configMaps,
        { labelSelector: s },
        { pick: (b) => (b.kind === "Status" ? b : b.items?.map((x) => x.metadata.name)) },
      );
  }),
  test("ConfigMap list: field selectors, valid and invalid", (t) => {
    createFive(t);
    for (const s of [
      "metadata.name=c1",
      "metadata.name!=c1",
      "metadata.namespace=$NS",
      "metadata.namespace=zz",
      "metadata.name==c1",
      "metadata.name=c1,metadata.namespace=$NS",
      "metadata.name",
      "metadata.uid=x",
      "bogus=1",
      "",
      "metadata.name=",
      "=c1",
      "metadata.name=c1,",
      "metadata.name in (c1)",
      "metadata.name=c\\,1",
      "data.n=1",
      "metadata.labels.a=b",
      "metadata.name>c1",
    ])
      t.list(
        configMaps,
        { fieldSelector: s },
        { pick: (b) => (b.kind === "Status" ? b : b.items?.map((x) => x.metadata.name)) },
      );
  }),
  test("ConfigMap list: limits and the count of remaining items", (t) => {
    createFive(t);
    for (const l of ["2", "0", "-1", "x", "", "100", "5", "1.5"])
      t.list(
        configMaps,
        { limit: l },
        {
          pick: (b) =>
            b.kind === "Status" ? b : { m: { ...b.metadata, resourceVersion: "r" }, n: b.items?.length },
        },
      );
    t.list(
      configMaps,
      { limit: "2", labelSelector: "parity=even" },
      {
        pick: (b) => ({
          m: { ...b.metadata, resourceVersion: "r" },
          n: b.items?.map((x) => x.metadata.name),
        }),
      },
    ).list(
      configMaps,
      { limit: "2", fieldSelector: "metadata.name!=c0" },
      {
        pick: (b) => ({
          m: { ...b.metadata, resourceVersion: "r" },
          n: b.items?.map((x) => x.metadata.name),
        }),
      },
    );
  }),
  test("ConfigMap list: continue tokens, valid and invalid", (t) => {
    createFive(t);
    t.list(
      configMaps,
      { limit: "2" },
      { save: { TK: (b) => b.metadata.continue }, pick: (b) => b.items.map((x) => x.metadata.name) },
    )
      .post(configMaps, cm("c00", {}), silent)
      .del(`${configMaps}/c4`, silent)
      .list(
        configMaps,
        { limit: "2", continue: "$TK" },
        {
          save: { TL: (b) => b.metadata.continue },
          pick: (b) => ({ ...b.metadata, n: b.items.map((x) => x.metadata.name) }),
        },
      )
      .list(
        configMaps,
        { limit: "2", continue: "$TL" },
        { pick: (b) => ({ ...b.metadata, n: b.items.map((x) => x.metadata.name) }) },
      )
      .list(configMaps, { continue: "$TK" }, { pick: (b) => ({ n: b.items.map((x) => x.metadata.name) }) })
      .list(configMaps, { continue: "$TK", resourceVersion: "5" })
      .list(
        configMaps,
        { continue: "$TK", resourceVersion: "0" },
        { pick: (b) => (b.kind === "Status" ? b : b.items.length) },
      )
      .list(configMaps, { continue: "$TK", resourceVersionMatch: "Exact", resourceVersion: "5" })
      .list(configMaps, { continue: "garbage" })
      .list(configMaps, { continue: "e30=" })
      .list(
        configMaps,
        { limit: "1", continue: "$TK", labelSelector: "parity=odd" },
        { pick: (b) => ({ ...b.metadata, n: b.items?.map((x) => x.metadata.name) }) },
      );
  }),
  test("ConfigMap list: resourceVersion and resourceVersionMatch", (t) => {
    createFive(t);
    for (const o of [
      { resourceVersion: "0" },
      { resourceVersion: "$Rc" },
      { resourceVersion: "1" },
      { resourceVersion: "x" },
      { resourceVersion: "-1" },
      { resourceVersion: "$Rc", resourceVersionMatch: "Exact" },
      { resourceVersion: "$Ra", resourceVersionMatch: "NotOlderThan" },
      { resourceVersion: "0", resourceVersionMatch: "Exact" },
      { resourceVersion: "0", resourceVersionMatch: "NotOlderThan" },
      { resourceVersionMatch: "Exact" },
      { resourceVersionMatch: "NotOlderThan" },
      { resourceVersionMatch: "Bogus" },
      { resourceVersion: "1", resourceVersionMatch: "Bogus" },
      { resourceVersion: "$Rc", limit: "1" },
      { resourceVersion: "$Rc", resourceVersionMatch: "Exact", limit: "1" },
      { resourceVersion: "$Rc", resourceVersionMatch: "NotOlderThan", limit: "1" },
      { resourceVersion: "0", limit: "2" },
      { sendInitialEvents: "true" },
      { sendInitialEvents: "false" },
      { timeoutSeconds: "1" },
      { timeoutSeconds: "x" },
      { watch: "false" },
      { allowWatchBookmarks: "true" },
    ])
      t.list(configMaps, o, {
        pick: (b) =>
          b.kind === "Status"
            ? b
            : { m: { ...b.metadata, resourceVersion: "r" }, n: b.items?.map((x) => x.metadata.name) },
      });
    t.get(`${configMaps}/c0`, { query: { resourceVersion: "0" } })
      .get(`${configMaps}/c0`, { query: { resourceVersion: "$Rb" } })
      .get(`${configMaps}/c0`, { query: { resourceVersion: "1" } })
      .get(`${configMaps}/c0`, { query: { resourceVersion: "x" } })
      .get(`${configMaps}/c0`, { query: { resourceVersion: "99999999" } });
  }),
  test("ConfigMap list: media types of answers", (t) => {
    createFive(t);
    for (const a of [
      asMetadata,
      asMetadataList,
      asTable,
      "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
      "application/json;as=Table;v=v2;g=meta.k8s.io",
      "application/json;as=Bogus;v=v1;g=meta.k8s.io",
      "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
      "application/yaml",
      "text/html",
      "*/*",
      "application/*",
      "text/html, application/json;q=0.5",
      "application/json;as=Table",
      "application/xml, */*;q=0.1",
      "application/json;pretty=1",
      "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    ])
      t.get(`${configMaps}/c0`, { accept: a }).list(configMaps, { limit: "1" }, { accept: a });
  }),
  test("ConfigMap list: other parameters, all namespaces, other methods", (t) => {
    createFive(t);
    t.get(`${configMaps}/c0`, { query: { pretty: "true" } })
      .get(`${configMaps}/c0`, { query: { bogus: "1" } })
      .get(`${configMaps}/none`)
      .get(`${configMaps}/c0`, { query: { export: "true" } })
      .list(
        "/api/v1/configmaps",
        { fieldSelector: "metadata.namespace=$NS", limit: "2" },
        {
          pick: (b) => ({
            n: b.items.map((x) => x.metadata.name),
            k: b.kind,
            c: Boolean(b.metadata.continue),
            r: b.metadata.remainingItemCount,
          }),
        },
      )
      .list("/api/v1/namespaces/none-$ID/configmaps", {}, { pick: (b) => ({ ...b, metadata: 1 }) })
      .list(
        "/apis/apps/v1/deployments",
        { labelSelector: "zz=$ID" },
        { pick: (b) => ({ ...b, metadata: 1 }) },
      )
      .step({ method: "HEAD", path: configMaps })
      .step({ method: "OPTIONS", path: configMaps })
      .step({ method: "PUT", path: configMaps, body: {} })
      .step({ method: "PATCH", path: configMaps, body: {}, type: "application/merge-patch+json" })
      .step({ method: "POST", path: `${configMaps}/c0`, body: {} });
  }),
];
