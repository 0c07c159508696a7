// Mutating admission policies: patches and applied configurations.
import { cm, test } from "../_lib.mjs";
import { binding, configMaps, installPolicy, policy } from "./_builders.mjs";

const mutatingPolicy = (name, p, steps) =>
  test(
    name,
    (t) => {
      installPolicy(
        t,
        policy({ reinvocationPolicy: "Never", ...p }, "MutatingAdmissionPolicy"),
        binding({}, "MutatingAdmissionPolicyBinding"),
        "mutatingadmissionpolic",
      );
      steps(t);
    },
    { account: true },
  );

export default [
  mutatingPolicy(
    "MutatingAdmissionPolicy evaluate: a JSON patch",
    {
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression:
              "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'made': 'yes'}}, JSONPatch{op: 'add', path: '/data/extra', value: 'x'}]",
          },
        },
      ],
    },
    (t) =>
      t
        .post(configMaps, cm("a", { k: "v" }))
        .post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" } })
        .apply(`${configMaps}/c`, cm("c", { k: "v" }), "m"),
  ),
  mutatingPolicy(
    "MutatingAdmissionPolicy evaluate: an apply configuration",
    {
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression:
              "Object{metadata: Object.metadata{annotations: {'a.b/c': object.metadata.name}}, data: {'k2': 'v2'}}",
          },
        },
      ],
      matchConditions: [{ name: "n", expression: "object.metadata.name != 'skip'" }],
    },
    (t) =>
      t
        .post(configMaps, cm("a", { k: "v" }))
        .post(configMaps, cm("skip", { k: "v" }))
        .merge(`${configMaps}/a`, { data: { k: "w" } }),
  ),
  mutatingPolicy(
    "MutatingAdmissionPolicy evaluate: a patch that fails",
    {
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: { expression: "[JSONPatch{op: 'test', path: '/data/k', value: 'zzz'}]" },
        },
        { patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/nothing'}]" } },
      ],
    },
    (t) => t.post(configMaps, cm("a", { k: "v" })).post(configMaps, cm("b", { k: "zzz" })),
  ),
];
