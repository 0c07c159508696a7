// Webhooks that do not answer, and webhook configurations that are invalid.
import { cm, dryRun, test } from "../_lib.mjs";
import { admissionregistration, configMaps } from "./_builders.mjs";

export default [
  test("WebhookConfiguration call: a webhook that does not answer, and invalid configurations", (t) => {
    const hook = (name, o) => ({
      name,
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      timeoutSeconds: 1,
      clientConfig: { url: "https://127.0.0.1:1/x" },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "$NS" } },
      ...o,
    });
    const configuration = (kind, ...webhooks) => ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name: "h-$ID" },
      webhooks,
    });
    t.post(
      `${admissionregistration}/validatingwebhookconfigurations`,
      configuration(
        "ValidatingWebhookConfiguration",
        hook("a.b.c", { matchConditions: [{ name: "x", expression: "object.metadata.name == 'x'" }] }),
        hook("d.e.f", { failurePolicy: "Ignore" }),
      ),
    )
      .cleanup({ method: "DELETE", path: `${admissionregistration}/validatingwebhookconfigurations/h-$ID` })
      .wait(1300)
      .post(configMaps, cm("x"), { pick: (b) => [b.code, b.reason, b.kind] })
      .post(configMaps, cm("y"), { ignoreBody: true })
      .post(configMaps, cm("x"), { ...dryRun, pick: (b) => [b.code, b.reason] });
    for (const h of [
      { admissionReviewVersions: [] },
      { admissionReviewVersions: ["v9"] },
      { sideEffects: "Some" },
      { sideEffects: undefined },
      { timeoutSeconds: 0 },
      { timeoutSeconds: 31 },
      { clientConfig: {} },
      { clientConfig: { url: "http://x" } },
      { clientConfig: { url: "https://u:p@x/y?z" } },
      { clientConfig: { service: { name: "", namespace: "" } } },
      { clientConfig: { url: "https://x", service: { name: "a", namespace: "b" } } },
      { clientConfig: { service: { name: "a", namespace: "b", path: "x", port: 0 } } },
      { failurePolicy: "Bogus", matchPolicy: "Bogus" },
      {
        rules: [
          { operations: ["*", "CREATE"], apiGroups: ["a", "*"], apiVersions: [], resources: ["*/*", "pods"] },
        ],
      },
      {
        rules: [
          { operations: ["X"], apiGroups: ["a"], apiVersions: ["v1"], resources: ["pods/"], scope: "Bogus" },
        ],
      },
      { objectSelector: { matchLabels: { "bad key!": "x" } } },
      {
        matchConditions: [
          { name: "a", expression: "1" },
          { name: "a", expression: "object.x" },
        ],
      },
    ])
      t.post(
        `${admissionregistration}/mutatingwebhookconfigurations`,
        configuration("MutatingWebhookConfiguration", hook("a.b.c", h)),
        dryRun,
      );
    t.post(
      `${admissionregistration}/validatingwebhookconfigurations`,
      configuration("ValidatingWebhookConfiguration", hook("short"), hook("a.b.c"), hook("a.b.c")),
      dryRun,
    );
  }),
];
