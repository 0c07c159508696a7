// JSON patches.
import { cm, strict, test } from "../_lib.mjs";
import { configMapPath, createConfigMap, createDeployment, deploymentPath } from "./_builders.mjs";

const jsonPatches = (name, ops) =>
  test(name, (t) => {
    createConfigMap(t);
    for (const o of ops) t.json(configMapPath, o);
  });

export default [
  jsonPatches("ConfigMap JSON patch: paths", [
    [{ op: "add", path: "/data/c", value: "1" }],
    [{ op: "add", path: "/metadata/annotations/x~1y", value: "9" }],
    [{ op: "remove", path: "/data/t.u" }],
    [{ op: "add", path: "data/c", value: "1" }],
    [{ op: "add", path: "", value: {} }],
    [{ op: "replace", path: "", value: cm("c", { z: "1" }) }],
    [{ op: "remove", path: "" }],
    [{ op: "test", path: "", value: {} }],
    [{ op: "add", path: "/", value: "x" }],
    [{ op: "add", path: "/data/", value: "x" }],
    [{ op: "replace", path: "/data/none", value: "x" }],
    [{ op: "remove", path: "/data/none" }],
    [{ op: "remove", path: "/nope/none" }],
    [{ op: "add", path: "/nope/none", value: 1 }],
    [{ op: "add", path: "/binaryData/x", value: "eA==" }],
  ]),
  jsonPatches("ConfigMap JSON patch: move, copy and test", [
    [{ op: "move", from: "/data/a", path: "/data/z" }],
    [{ op: "copy", from: "/data/z", path: "/data/y" }],
    [{ op: "move", from: "/data/none", path: "/data/q" }],
    [{ op: "copy", from: "/data/none", path: "/data/q" }],
    [{ op: "move", path: "/data/q" }],
    [{ op: "test", path: "/data/b", value: "2" }],
    [{ op: "test", path: "/data/b", value: "3" }],
    [{ op: "test", path: "/data/none", value: null }],
    [{ op: "test", path: "/data/none", value: "x" }],
    [{ op: "test", path: "/data/b" }],
    [{ op: "test", path: "/nope/x", value: 1 }],
    [{ op: "test", path: "/metadata/labels", value: { l: "m" } }],
    [{ op: "move", from: "/data", path: "/data/x" }],
  ]),
  jsonPatches("ConfigMap JSON patch: operations that are malformed", [
    {},
    [],
    [1],
    [null],
    "x",
    [{ op: "bogus", path: "/data/a" }],
    [{ path: "/data/a" }],
    [{ op: "add" }],
    [{ op: "add", path: "/data/a" }],
    [{ op: "replace", path: "/data/a", value: null }],
    [{ op: "add", path: "/data/n", value: null }],
    [{ op: "add", path: "/data/a", value: 5 }],
    [{ op: "add", path: "/data", value: "x" }],
    [{ op: "replace", path: "/data", value: { q: "1" } }],
    [{ op: "remove", path: "/data" }],
    [{ op: 1, path: 2 }],
    [{ op: "add", path: "/data/w", value: "1", extra: 2 }],
    [{ OP: "add", path: "/data/w", value: "1" }],
    "",
    "{",
    "[",
    '[{"op":"add","path":"/data/u","value":"1","value":"2"}]',
    "null",
  ]),
  jsonPatches("ConfigMap JSON patch: kind, name, uid and other identity", [
    [{ op: "replace", path: "/kind", value: "Secret" }],
    [{ op: "replace", path: "/apiVersion", value: "v2" }],
    [{ op: "replace", path: "/metadata/name", value: "d" }],
    [{ op: "replace", path: "/metadata/namespace", value: "other" }],
    [{ op: "replace", path: "/metadata/uid", value: "11111111-1111-1111-1111-111111111111" }],
    [{ op: "replace", path: "/metadata/creationTimestamp", value: "2020-01-01T00:00:00Z" }],
    [{ op: "replace", path: "/metadata/resourceVersion", value: "1" }],
    [{ op: "remove", path: "/metadata/resourceVersion" }],
    [{ op: "remove", path: "/metadata" }],
    [{ op: "remove", path: "/metadata/name" }],
    [{ op: "remove", path: "/kind" }],
    [{ op: "add", path: "/metadata/generation", value: 5 }],
    [{ op: "add", path: "/metadata/deletionTimestamp", value: "2020-01-01T00:00:00Z" }],
    [{ op: "add", path: "/metadata/selfLink", value: "x" }],
    [{ op: "add", path: "/metadata/labels/bad key", value: "x" }],
    [{ op: "add", path: "/metadata/finalizers", value: ["x"] }],
    [{ op: "add", path: "/metadata/finalizers", value: ["a.b/x", "a.b/x"] }],
    [{ op: "remove", path: "/metadata/finalizers" }],
    [{ op: "add", path: "/metadata/unknownThing", value: "x" }],
    [{ op: "add", path: "/bogus", value: "x" }],
  ]),
  test("Deployment JSON patch: positions in lists", (t) => {
    createDeployment(t);
    const containers = "/spec/template/spec/containers";
    for (const o of [
      [{ op: "add", path: `${containers}/0`, value: { name: "n", image: "i" } }],
      [{ op: "add", path: `${containers}/-`, value: { name: "m", image: "i" } }],
      [{ op: "remove", path: `${containers}/-` }],
      [{ op: "remove", path: `${containers}/9` }],
      [{ op: "remove", path: `${containers}/-1` }],
      [{ op: "add", path: `${containers}/-1`, value: { name: "neg", image: "i" } }],
      [{ op: "add", path: `${containers}/99`, value: { name: "o", image: "i" } }],
      [{ op: "replace", path: `${containers}/01/image`, value: "z" }],
      [{ op: "replace", path: `${containers}/x/image`, value: "z" }],
      [{ op: "remove", path: `${containers}/0` }],
      [{ op: "move", from: `${containers}/0`, path: `${containers}/1` }],
      [{ op: "test", path: `${containers}/0/name`, value: "b" }],
      [{ op: "replace", path: `${containers}`, value: [] }],
      [{ op: "replace", path: `${containers}/0/image`, value: 5 }],
      [{ op: "replace", path: "/spec/replicas", value: "5" }],
      [{ op: "replace", path: "/spec/replicas", value: 1.5 }],
      [{ op: "add", path: "/spec/nope", value: 1 }],
      [
        { op: "test", path: "/spec/replicas", value: 1 },
        { op: "replace", path: "/spec/replicas", value: 2 },
      ],
      [{ op: "replace", path: "/spec/selector/matchLabels/app", value: "e" }],
    ])
      t.json(deploymentPath, o);
    t.json(deploymentPath, [{ op: "add", path: "/spec/nope", value: 1 }], strict).json(
      deploymentPath,
      [{ op: "add", path: "/spec/nope", value: 1 }],
      { query: { fieldValidation: "Ignore" } },
    );
  }),
];
