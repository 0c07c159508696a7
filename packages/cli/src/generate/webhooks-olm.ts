/** Webhooks in a bundle: the Operator Lifecycle Manager registers them and keeps their certificate. */
import { webhookConfigurations } from "@keelson/runtime";
import type { OperatorParts } from "../project.ts";
import { isConverted, servesWebhooks } from "./webhooks.ts";

/** The Secret in which the lifecycle manager puts the certificate of a deployment's webhooks. */
export function olmSecretName(deployment: string): string {
  return `${deployment}-service-cert`;
}

/** How an operator hears that another keeps its certificate. */
export function olmWebhookEnv(parts: OperatorParts): { name: string; value: string }[] {
  if (!servesWebhooks(parts)) return [];
  return [
    { name: "WEBHOOK_CERTIFICATES", value: "given" },
    { name: "WEBHOOK_SECRET", value: olmSecretName(parts.name) },
  ];
}

interface Registered {
  readonly name: string;
  readonly clientConfig: { readonly service: { readonly path: string } };
  readonly [field: string]: unknown;
}

export function webhookDefinitions(parts: OperatorParts): { webhookdefinitions?: object[] } {
  if (!servesWebhooks(parts)) return {};
  const { name, resources, webhooks } = parts;
  const place = { service: { namespace: "placeholder", name } };
  const behind = { deploymentName: name, containerPort: 443, targetPort: 9443 };
  const admission = webhookConfigurations(webhooks, { name, place }).flatMap((configuration) =>
    (configuration.webhooks as unknown as Registered[]).map(({ clientConfig, name, ...rest }) => ({
      type: configuration.kind.replace("Configuration", "").replace("Webhook", "AdmissionWebhook"),
      generateName: name,
      ...behind,
      ...rest,
      webhookPath: clientConfig.service.path,
    })),
  );
  const converted = resources.filter(isConverted).map((each) => each.crd().metadata.name);
  const conversion =
    converted.length === 0
      ? []
      : [
          {
            type: "ConversionWebhook",
            generateName: `convert.${name}.keelson.dev`,
            ...behind,
            admissionReviewVersions: ["v1"],
            conversionCRDs: converted,
            sideEffects: "None",
            webhookPath: "/convert",
          },
        ];
  return { webhookdefinitions: [...admission, ...conversion] };
}
