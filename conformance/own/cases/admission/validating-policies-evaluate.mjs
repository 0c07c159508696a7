// Validating admission policies: expressions, messages, parameters, failures.
import {
  cm,
  crd,
  dryRun,
  group,
  install,
  ns,
  objectSchema,
  silent,
  test,
  widget,
  widgets,
} from "../_lib.mjs";
import { admissionregistration, binding, configMaps, installPolicy, policy, rules } from "./_builders.mjs";

const validatingPolicy = (name, p, b, steps) =>
  test(name, (t) => {
    installPolicy(t, policy(p), binding(b));
    steps(t);
  });

// Parameters of the case's own kind: the real server misses those of a kind that was watched before.
const installParams = (t, ...list) => {
  install(t, crd(objectSchema({ spec: objectSchema({ max: { type: "integer" } }) })));
  for (const [name, max] of list)
    t.post(widgets, widget(name, { spec: { max } }, { labels: { p: "y" } }), silent);
};

const maxSizePolicy = {
  paramKind: { apiVersion: `${group}/v1`, kind: "Widget" },
  matchConstraints: rules({ resources: ["secrets"] }),
  validations: [
    {
      expression: "object.data.size() <= params.spec.max",
      messageExpression: "'at most ' + string(params.spec.max)",
    },
  ],
};

const secret = (name, n) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  data: Object.fromEntries(["a", "b", "c"].slice(0, n).map((k) => [k, ""])),
});

export default [
  validatingPolicy(
    "ValidatingAdmissionPolicy evaluate: messages, reasons and message expressions",
    {
      validations: [
        { expression: "object.data.?a.orValue('') != 'bad'", message: "no bad", reason: "Forbidden" },
        {
          expression: "!has(object.data.b) || object.data.b.size() < 3",
          messageExpression: "'b is ' + object.data.b",
        },
        { expression: "!has(object.data.c) || int(object.data.c) > 0" },
      ],
      auditAnnotations: [{ key: "k", valueExpression: "'v'" }],
    },
    {},
    (t) =>
      t
        .post(configMaps, cm("a", { a: "bad" }))
        .post(configMaps, cm("a", { b: "long" }))
        .post(configMaps, cm("a", { a: "bad", b: "long" }))
        .post(configMaps, cm("a", { c: "0" }))
        .post(configMaps, cm("a", { c: "x" }))
        .post(configMaps, cm("a", { a: "ok" }))
        .merge(`${configMaps}/a`, { data: { a: "bad" } })
        .apply(`${configMaps}/z`, cm("z", { a: "bad" }), "m")
        .del(`${configMaps}/a`)
        .post(configMaps, cm("a")),
  ),
  validatingPolicy(
    "ValidatingAdmissionPolicy evaluate: the actions Warn and Audit",
    { validations: [{ expression: "object.metadata.name != 'w'", message: "w is frowned upon" }] },
    { validationActions: ["Warn", "Audit"] },
    (t) =>
      t
        .post(configMaps, cm("w", {}))
        .post(configMaps, cm("v", {}))
        .merge(`${configMaps}/w`, { data: { a: "b" } }),
  ),
  validatingPolicy(
    "ValidatingAdmissionPolicy evaluate: variables, oldObject, namespaceObject and request",
    {
      variables: [
        { name: "env", expression: "namespaceObject.metadata.name" },
        { name: "isNew", expression: "oldObject == null" },
      ],
      validations: [
        { expression: "variables.isNew || object.data.k == oldObject.data.k", message: "k stays" },
        {
          expression:
            "request.operation in ['CREATE', 'UPDATE'] && request.resource.resource == 'configmaps' && request.name != 'no'",
        },
        {
          expression:
            "variables.env.startsWith('conf-') && request.userInfo.groups.exists(g, g == 'system:masters')",
        },
      ],
    },
    {},
    (t) =>
      t
        .post(configMaps, cm("a", { k: "1" }))
        .merge(`${configMaps}/a`, { data: { k: "2" } })
        .merge(`${configMaps}/a`, { data: { z: "2" } })
        .post(configMaps, cm("no", { k: "1" })),
  ),
  validatingPolicy(
    "ValidatingAdmissionPolicy evaluate: match conditions, and an error with failurePolicy Fail",
    {
      matchConditions: [{ name: "only-x", expression: "object.metadata.name.startsWith('x')" }],
      validations: [{ expression: "object.data.missing == 'y'" }],
      failurePolicy: "Fail",
    },
    {},
    (t) =>
      t
        .post(configMaps, cm("a", {}))
        .post(configMaps, cm("x1", {}))
        .post(configMaps, cm("x2", { missing: "y" }))
        .post(configMaps, cm("x3", { missing: "n" })),
  ),
  validatingPolicy(
    "ValidatingAdmissionPolicy evaluate: an error with failurePolicy Ignore",
    { validations: [{ expression: "object.data.missing == 'y'" }], failurePolicy: "Ignore" },
    {},
    (t) => t.post(configMaps, cm("a", {})).post(configMaps, cm("b", { missing: "n" })),
  ),
  test("ValidatingAdmissionPolicy evaluate: one parameter object by name", (t) => {
    installParams(t, ["par", 2]);
    installPolicy(
      t,
      policy({ ...maxSizePolicy }),
      binding({ paramRef: { name: "par", namespace: "$NS", parameterNotFoundAction: "Deny" } }),
    );
    t.post(`${ns}/secrets`, secret("a", 2))
      .post(`${ns}/secrets`, secret("b", 3))
      .merge(`${widgets}/par`, { spec: { max: 3 } }, silent)
      .wait(1500)
      .post(`${ns}/secrets`, secret("c", 3))
      .del(`${widgets}/par`, silent)
      .wait(1500)
      .post(`${ns}/secrets`, secret("d", 1));
  }),
  test("ValidatingAdmissionPolicy evaluate: parameter objects by selector", (t) => {
    installParams(t, ["one", 2], ["two", 1]);
    installPolicy(
      t,
      policy({ ...maxSizePolicy }),
      binding({ paramRef: { selector: { matchLabels: { p: "y" } }, parameterNotFoundAction: "Allow" } }),
    );
    t.post(`${ns}/secrets`, secret("a", 1), {
      ...dryRun,
      silent: true,
      until: (_, status) => status === 201,
      timeoutMs: 60_000,
    })
      .post(`${ns}/secrets`, secret("a", 1))
      .post(`${ns}/secrets`, secret("b", 2))
      .del(`${widgets}/one`, silent)
      .del(`${widgets}/two`, silent)
      .wait(1500)
      .post(`${ns}/secrets`, secret("c", 2));
  }),
  test("ValidatingAdmissionPolicy evaluate: custom resources and their status", (t) => {
    install(
      t,
      crd(
        objectSchema({ spec: objectSchema({ n: { type: "integer" } }) }),
        {},
        { subresources: { status: {} } },
      ),
    );
    installPolicy(
      t,
      policy({
        matchConstraints: rules({ apiGroups: [group], resources: ["widgets", "widgets/status"] }),
        validations: [{ expression: "!has(object.spec.n) || object.spec.n < 5", message: "small" }],
      }),
      binding({}),
    );
    t.post(widgets, widget("w", { spec: { n: 1 } }))
      .post(widgets, widget("v", { spec: { n: 9 } }))
      .merge(`${widgets}/w`, { spec: { n: 7 } })
      .get("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p-$ID", {
        pick: (b) => b.metadata?.generation,
      });
  }),
  test("ValidatingAdmissionPolicy create: invalid policies and bindings", (t) => {
    const bad = (s) => t.post(`${admissionregistration}/validatingadmissionpolicies`, policy(s), dryRun);
    for (const s of [
      {},
      { validations: [] },
      { validations: [{ expression: "" }] },
      { validations: [{ expression: "1" }] },
      { validations: [{ expression: "object." }] },
      { validations: [{ expression: "foo" }] },
      { validations: [{ expression: "true", message: "a\nb" }] },
      { validations: [{ expression: "true", reason: "Bogus" }] },
      { validations: [{ expression: "true", messageExpression: "1" }] },
      { validations: [{ expression: "true" }], failurePolicy: "Bogus" },
      { validations: [{ expression: "true" }], matchConstraints: null },
      { validations: [{ expression: "true" }], matchConstraints: { resourceRules: [] } },
      {
        validations: [{ expression: "true" }],
        matchConstraints: {
          resourceRules: [
            { operations: ["BOGUS"], apiGroups: [], apiVersions: ["*", "v1"], resources: ["*", "pods"] },
          ],
        },
      },
      { validations: [{ expression: "true" }], paramKind: {} },
      { validations: [{ expression: "true" }], paramKind: { apiVersion: "v1", kind: "" } },
      { validations: [{ expression: "params.x == 1" }] },
      { validations: [{ expression: "variables.x" }] },
      {
        variables: [
          { name: "x", expression: "1" },
          { name: "x", expression: "2" },
        ],
        validations: [{ expression: "variables.x == 1" }],
      },
      { variables: [{ name: "bad-name", expression: "1" }], validations: [{ expression: "true" }] },
      {
        variables: [
          { name: "x", expression: "variables.y" },
          { name: "y", expression: "1" },
        ],
        validations: [{ expression: "true" }],
      },
      { auditAnnotations: [{ key: "", valueExpression: "" }] },
      { auditAnnotations: [{ key: "a", valueExpression: "1" }] },
      {
        auditAnnotations: [
          { key: "a", valueExpression: "'x'" },
          { key: "a", valueExpression: "'x'" },
        ],
      },
      {
        matchConditions: [
          { name: "", expression: "1" },
          { name: "a b", expression: "true" },
          { name: "c", expression: "object.x ==" },
        ],
        validations: [{ expression: "true" }],
      },
      { validations: [{ expression: "authorizer.group('').resource('pods').check('create').allowed()" }] },
    ])
      bad(s);
    for (const b of [
      { policyName: "" },
      { validationActions: [] },
      { validationActions: ["Bogus"] },
      { validationActions: ["Deny", "Warn"] },
      { validationActions: ["Deny", "Deny"] },
      { paramRef: {} },
      { paramRef: { name: "a" } },
      { paramRef: { name: "a", selector: {}, parameterNotFoundAction: "Deny" } },
      { paramRef: { name: "a", parameterNotFoundAction: "Bogus" } },
      {
        matchResources: {
          resourceRules: [{ operations: [], apiGroups: ["a"], apiVersions: ["b"], resources: [] }],
        },
      },
    ])
      t.post(`${admissionregistration}/validatingadmissionpolicybindings`, binding(b), dryRun);
  }),
];
