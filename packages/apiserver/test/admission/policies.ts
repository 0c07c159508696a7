/** Admission policies of both kinds, one at a time. */
import type { Story } from "../validation/story.ts";

type Json = Record<string, unknown>;

const registration = "/apis/admissionregistration.k8s.io/v1";
const apiVersion = "admissionregistration.k8s.io/v1";
const secrets = "/api/v1/namespaces/ruled/secrets";
const deployments = "/apis/apps/v1/namespaces/ruled/deployments";

interface Case {
  readonly label: string;
  readonly spec: Json;
  readonly binding?: Json;
  /** What the object that is created has beside its own. */
  readonly metadata?: Json;
}

const denying = (more: Json = {}): Json => ({ validations: [{ expression: "false", ...more }] });
const configMapParams = { paramKind: { apiVersion: "v1", kind: "ConfigMap" } };
const paramRef = (ref: Json, action = "Deny"): Json => ({
  paramRef: { ...ref, parameterNotFoundAction: action },
});
const ofParams = { ...configMapParams, ...denying({ messageExpression: "params.metadata.name" }) };
const rules = (more: Json = {}): Json => ({
  resourceRules: [
    {
      operations: ["CREATE", "UPDATE"],
      apiGroups: [""],
      apiVersions: ["v1"],
      resources: ["secrets"],
      ...more,
    },
  ],
});

const validating: readonly Case[] = [
  { label: "refuses", spec: denying() },
  { label: "with a message", spec: denying({ message: "bad name" }) },
  {
    label: "with an expressed message",
    spec: denying({ messageExpression: '"name is " + object.metadata.name' }),
  },
  { label: "as forbidden", spec: denying({ reason: "Forbidden" }) },
  { label: "as too large", spec: denying({ reason: "RequestEntityTooLarge" }) },
  { label: "warns", spec: denying({ message: "hm" }), binding: { validationActions: ["Warn", "Audit"] } },
  { label: "fails", spec: { validations: [{ expression: "object.spec.x == 1" }] } },
  {
    label: "fails, ignored",
    spec: { failurePolicy: "Ignore", validations: [{ expression: "object.spec.x == 1" }] },
  },
  {
    label: "with variables",
    spec: {
      variables: [
        { name: "n", expression: "object.metadata.name" },
        { name: "l", expression: "size(variables.n)" },
      ],
      validations: [
        { expression: "variables.l > 100", messageExpression: '"length " + string(variables.l)' },
      ],
    },
  },
  {
    label: "twice",
    spec: {
      validations: [
        { expression: "false", message: "one" },
        { expression: "false", message: "two" },
      ],
    },
  },
  ...["no", "zz"].map((name) => ({
    label: `under a condition ${name}`,
    spec: { matchConditions: [{ name: "x", expression: 'request.name.startsWith("zz")' }], ...denying() },
    metadata: { name },
  })),
  {
    label: "under a condition that fails",
    spec: { matchConditions: [{ name: "x", expression: "object.spec.x == 1" }], ...denying() },
  },
  { label: "with a parameter", spec: ofParams, binding: paramRef({ name: "params" }) },
  {
    label: "with selected parameters",
    spec: ofParams,
    binding: paramRef({ selector: { matchLabels: { p: "1" } } }),
  },
  { label: "without its parameter", spec: ofParams, binding: paramRef({ name: "nope" }) },
  { label: "without its parameter, allowed", spec: ofParams, binding: paramRef({ name: "nope" }, "Allow") },
  {
    label: "from another namespace",
    spec: ofParams,
    binding: paramRef({ name: "params", namespace: "ruled" }),
  },
  {
    label: "of an unknown kind",
    spec: { paramKind: { apiVersion: "example.com/v1", kind: "Nope" }, ...denying() },
    binding: paramRef({ name: "x" }),
  },
  {
    label: "bound without parameters",
    spec: { ...configMapParams, validations: [{ expression: "params == null" }] },
  },
  ...["1", "2"].map((q) => ({
    label: `bound to labels ${q}`,
    spec: denying(),
    binding: { matchResources: { objectSelector: { matchLabels: { q: "1" } } } },
    metadata: { labels: { q } },
  })),
  {
    label: "bound to other namespaces",
    spec: denying(),
    binding: { matchResources: { namespaceSelector: { matchLabels: { env: "y" } } } },
  },
  {
    label: "sees the namespace",
    spec: denying({ messageExpression: '"env " + namespaceObject.metadata.labels.env' }),
  },
  {
    label: "sees the request",
    spec: denying({
      messageExpression:
        "request.operation + request.namespace + request.kind.kind + request.resource.resource",
    }),
  },
  {
    label: "asks the authorizer",
    spec: {
      validations: [
        {
          expression:
            'authorizer.serviceAccount("ruled","default").group("").resource("pods").check("create").allowed()',
          message: "may not",
        },
        { expression: 'authorizer.requestResource.check("delete").allowed()', message: "admin may" },
      ],
    },
  },
  {
    label: "excludes",
    spec: {
      matchConstraints: {
        ...rules(),
        excludeResourceRules: [
          { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["secrets"] },
        ],
      },
      ...denying(),
    },
  },
  ...["only", "other"].map((name) => ({
    label: `of one name ${name}`,
    spec: { matchConstraints: rules({ resourceNames: ["only"] }), ...denying() },
    metadata: { name },
  })),
];

const patching = (expression: string): Json => ({
  mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
});
const applying = (expression: string): Json => ({
  mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
});

const mutating: readonly Case[] = [
  {
    label: "patches",
    spec: patching(
      '[JSONPatch{op:"add",path:"/metadata/labels",value:{"x":"y"}},JSONPatch{op:"replace",path:"/spec/replicas",value:object.spec.replicas + 1}]',
    ),
  },
  {
    label: "patches odd keys",
    spec: patching(
      '[JSONPatch{op:"add",path:"/metadata/annotations",value:{}},JSONPatch{op:"add",path:"/metadata/annotations/"+jsonpatch.escapeKey("a.b/c"),value:"v"}]',
    ),
  },
  {
    label: "patches if",
    spec: patching(
      '[JSONPatch{op:"test",path:"/spec/replicas",value:9},JSONPatch{op:"replace",path:"/spec/replicas",value:1}]',
    ),
  },
  { label: "patches what is not there", spec: patching('[JSONPatch{op:"remove",path:"/spec/nope"}]') },
  {
    label: "patches what is not there, ignored",
    spec: { failurePolicy: "Ignore", ...patching('[JSONPatch{op:"remove",path:"/spec/nope"}]') },
  },
  {
    label: "applies",
    spec: applying(
      'Object{metadata: Object.metadata{labels: Object.metadata.labels{foo: "bar"}}, spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "side", image: "s"}]}}}}',
    ),
  },
  {
    label: "applies to what is atomic",
    spec: applying(
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "c", args: ["x"]}]}}}}',
    ),
  },
  { label: "applies unknown fields", spec: applying("Object{spec: Object.spec{nope: 1}}") },
  { label: "fails", spec: applying("Object{spec: Object.spec{replicas: object.spec.nope}}") },
  {
    label: "with variables",
    spec: {
      variables: [{ name: "r", expression: "object.spec.replicas * 2" }],
      ...applying("Object{spec: Object.spec{replicas: variables.r}}"),
    },
  },
  {
    label: "with a parameter",
    spec: { ...configMapParams, ...applying("Object{spec: Object.spec{replicas: int(params.data.max)}}") },
    binding: paramRef({ name: "params" }),
  },
  {
    label: "without its parameter",
    spec: { ...configMapParams, ...applying("Object{spec: Object.spec{replicas: int(params.data.max)}}") },
    binding: paramRef({ name: "nope" }),
  },
  { label: "makes it invalid", spec: applying("Object{spec: Object.spec{replicas: -5}}") },
];

export async function policies(story: Story): Promise<void> {
  await story.namespace("ruled", { env: "x" });
  for (const [name, max] of [
    ["params", "3"],
    ["params2", "1"],
  ] as const)
    await story.do("POST", "/api/v1/namespaces/ruled/configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, labels: { p: "1" } },
      data: { max },
    });

  const having = async (kind: string, { label, spec, binding }: Case, act: () => Promise<unknown>) => {
    const policy = `${registration}/${kind.toLowerCase()}admissionpolicies`;
    const bindings = `${registration}/${kind.toLowerCase()}admissionpolicybindings`;
    const made = await story.do("POST", policy, {
      apiVersion,
      kind: `${kind}AdmissionPolicy`,
      metadata: { name: "policy" },
      spec,
    });
    const bound = await story.do("POST", bindings, {
      apiVersion,
      kind: `${kind}AdmissionPolicyBinding`,
      metadata: { name: "binding" },
      spec: { policyName: "policy", ...binding },
    });
    story.keep(`${label}: made`, made.code + bound.code, undefined);
    await story.settle();
    await act();
    await story.do("DELETE", `${bindings}/binding`);
    await story.do("DELETE", `${policy}/policy`);
    await story.settle();
  };

  for (const one of validating) {
    const spec = { matchConstraints: rules(), ...one.spec };
    const binding = { validationActions: ["Deny"], ...one.binding };
    await having("Validating", { ...one, spec, binding }, () =>
      story.tell(one.label, "POST", `${secrets}?dryRun=All`, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s", ...one.metadata },
      }),
    );
  }
  const matchConstraints = {
    resourceRules: [
      { operations: ["CREATE"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"] },
    ],
  };
  for (const one of mutating)
    await having(
      "Mutating",
      {
        ...one,
        label: `mutating ${one.label}`,
        spec: { matchConstraints, reinvocationPolicy: "Never", ...one.spec },
      },
      () =>
        story.tell(`mutating ${one.label}`, "POST", `${deployments}?dryRun=All`, {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "d" },
          spec: {
            replicas: 2,
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
          },
        }),
    );
}
