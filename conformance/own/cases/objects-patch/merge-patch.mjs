// Merge patches.
import { strict, test } from "../_lib.mjs";
import { configMapPath, createConfigMap } from "./_builders.mjs";

export default [
  test("ConfigMap merge patch: values, null, and fields that cannot change", (t) => {
    createConfigMap(t);
    for (const p of [
      { data: { a: null, n: "1" } },
      { data: null },
      { data: { a: 5 } },
      { data: "x" },
      { data: ["x"] },
      [],
      null,
      "str",
      5,
      true,
      {},
      { metadata: { labels: null } },
      { metadata: null },
      { metadata: { name: "x" } },
      { metadata: { namespace: "x" } },
      { kind: "Secret" },
      { apiVersion: "v9" },
      { kind: null },
      { bogus: 1 },
      { metadata: { bogus: 1 } },
      { immutable: true },
      { data: { q: "1" } },
      { metadata: { labels: { x: "y" } } },
      { immutable: null },
    ])
      t.merge(configMapPath, p);
    t.merge(configMapPath, '{"metadata":{"labels":{"a":"1","a":"2"}}}')
      .merge(configMapPath, '{"metadata":{"labels":{"a":"1","a":"2"}}}', strict)
      .merge(configMapPath, "{", {})
      .merge(configMapPath, "", {})
      .merge(configMapPath, { bogus: 1 }, strict)
      .merge(configMapPath, { metadata: { resourceVersion: "0" } })
      .merge(configMapPath, { metadata: { resourceVersion: "abc" } })
      .merge(configMapPath, { metadata: { uid: "22222222-2222-2222-2222-222222222222" } });
  }),
];
