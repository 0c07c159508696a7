/** Webhooks that allow, refuse, change, fail and are not asked. */
import { mergePatch } from "../validation/players.ts";
import type { Story } from "../validation/story.ts";

type Json = Record<string, unknown>;

/** Where the webhooks are, and the authority that vouches for them. */
export interface WebhookPlace {
  readonly base: string;
  readonly authority: string;
  /** What the webhooks were asked since the last time. */
  take(): unknown[];
}

const registration = "/apis/admissionregistration.k8s.io/v1";
const configMaps = "/api/v1/namespaces/hooked/configmaps";

export function webhooks(place: WebhookPlace): (story: Story) => Promise<void> {
  const hook = (name: string, path: string, more: Json = {}): Json => ({
    name: `${name}.example.com`,
    clientConfig: { url: `${place.base}${path}`, caBundle: place.authority },
    rules: [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: 1,
    ...more,
  });

  return async (story) => {
    await story.namespace("hooked", { env: "x" });
    let count = 0;
    const configMap = (metadata: Json = {}): Json => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `c${count++}`, ...metadata },
      data: { a: "b" },
    });

    /** Configures, lets `act` run, and clears away. */
    const having = async (
      label: string,
      configured: { validating?: Json[]; mutating?: Json[] },
      act: (label: string) => Promise<unknown> = (text) => story.tell(text, "POST", configMaps, configMap()),
    ) => {
      const kinds = { validating: "Validating", mutating: "Mutating" } as const;
      const made: string[] = [];
      for (const phase of ["validating", "mutating"] as const) {
        const hooks = configured[phase];
        if (!hooks) continue;
        const path = `${registration}/${phase}webhookconfigurations`;
        await story.do("POST", path, {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: `${kinds[phase]}WebhookConfiguration`,
          metadata: { name: "hooks" },
          webhooks: hooks,
        });
        made.push(`${path}/hooks`);
      }
      await story.settle();
      place.take();
      await act(label);
      const asked = place.take();
      for (const path of made) await story.do("DELETE", path);
      await story.settle();
      story.keep(`${label}: asked`, 0, asked);
    };

    for (const path of [
      "/warn",
      "/deny",
      "/deny-with-reason",
      "/wrong-uid",
      "/500",
      "/404",
      "/nothing",
      "/silent",
    ])
      await having(`validating ${path}`, { validating: [hook("a", path)] });
    for (const path of ["/label", "/impossible-patch", "/untyped-patch", "/deny"])
      await having(`mutating ${path}`, { mutating: [hook("a", path)] });
    await having("failure ignored", { validating: [hook("a", "/500", { failurePolicy: "Ignore" })] });
    await having("service missing", {
      validating: [
        hook("a", "", { clientConfig: { service: { namespace: "hooked", name: "none", path: "/p" } } }),
      ],
    });
    await having(
      "trial run",
      { validating: [hook("a", "/warn", { sideEffects: "NoneOnDryRun" })] },
      (label) => story.tell(label, "POST", `${configMaps}?dryRun=All`, configMap()),
    );
    for (const env of ["x", "y"])
      await having(`namespace selector ${env}`, {
        validating: [hook("a", "/deny", { namespaceSelector: { matchLabels: { env } } })],
      });
    await having(
      "object selector",
      { validating: [hook("a", "/deny", { objectSelector: { matchLabels: { q: "1" } } })] },
      async (label) => {
        await story.tell(`${label} no`, "POST", configMaps, configMap());
        await story.tell(`${label} yes`, "POST", configMaps, configMap({ labels: { q: "1" } }));
      },
    );
    const named = [{ name: "x", expression: 'object.metadata.name.startsWith("zz")' }];
    await having(
      "match conditions",
      { validating: [hook("a", "/deny", { matchConditions: named })] },
      async (label) => {
        await story.tell(`${label} no`, "POST", configMaps, configMap());
        await story.tell(`${label} yes`, "POST", configMaps, configMap({ name: "zz1" }));
      },
    );
    await having("match condition fails", {
      validating: [
        hook("a", "/deny", { matchConditions: [{ name: "x", expression: 'object.nope.nope == "a"' }] }),
      ],
    });
    for (const reinvocationPolicy of ["IfNeeded", "Never"])
      await having(`reinvocation ${reinvocationPolicy}`, {
        mutating: [hook("a", "/label", { reinvocationPolicy }), hook("b", "/label")],
      });
    await having("verbs", { validating: [hook("a", "/allow")] }, async (label) => {
      const object = configMap({ name: "verbs" });
      const path = `${configMaps}/verbs`;
      await story.tell(`${label} create`, "POST", configMaps, object);
      await story.tell(`${label} update`, "PUT", path, { ...object, data: { x: "y" } });
      await story.tell(`${label} patch`, "PATCH", path, { data: { z: "1" } }, { type: mergePatch });
      await story.tell(`${label} delete`, "DELETE", path);
    });
    await having("older review", {
      validating: [hook("a", "/warn", { admissionReviewVersions: ["v1beta1"] })],
    });
    await having(
      "equivalent version",
      {
        validating: [
          hook("a", "/deny", {
            matchPolicy: "Equivalent",
            rules: [
              {
                operations: ["CREATE"],
                apiGroups: ["autoscaling"],
                apiVersions: ["v1"],
                resources: ["horizontalpodautoscalers"],
              },
            ],
          }),
        ],
      },
      (label) =>
        story.tell(label, "POST", "/apis/autoscaling/v2/namespaces/hooked/horizontalpodautoscalers", {
          apiVersion: "autoscaling/v2",
          kind: "HorizontalPodAutoscaler",
          metadata: { name: "h" },
          spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } },
        }),
    );
    const everything = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }];
    await having("exempt", { validating: [hook("a", "/deny", { rules: everything })] }, (label) =>
      story.tell(label, "POST", `${registration}/validatingwebhookconfigurations?dryRun=All`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "other" },
      }),
    );
  };
}
