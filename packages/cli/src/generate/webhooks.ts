/** What webhooks need in a cluster: a Service, a Secret that the operator fills, and their registration. */
import { webhookConfigurations, webhookServiceName } from "@keelson/runtime";
import { convertedAmong, convertedCrd } from "@keelson/runtime/internal";
import type { CustomResourceDefinitionObject, Resource } from "@keelson/schema";
import type { OperatorParts } from "../project.ts";
import { type Site, selectorOf } from "./site.ts";

/** Whether the API server asks this operator anything. */
export function servesWebhooks({ resources, webhooks }: OperatorParts): boolean {
  return webhooks.length > 0 || resources.some(isConverted);
}

export function isConverted(resource: Resource): boolean {
  return convertedAmong([resource]).length > 0;
}

function registrationOf(name: string, { labels, namespace }: Site) {
  return { name, labels, place: { service: { namespace, name: webhookServiceName(name) } } };
}

export function webhookObjects(parts: OperatorParts, site: Site) {
  if (!servesWebhooks(parts)) return [];
  const { name } = parts;
  const metadata = { name: webhookServiceName(name), namespace: site.namespace, labels: site.labels };
  return [
    { apiVersion: "v1", kind: "Secret", metadata },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        selector: selectorOf(name),
        ports: [{ name: "webhook", port: 443, targetPort: "webhook" }],
      },
    },
    ...webhookConfigurations(parts.webhooks, registrationOf(name, site)),
  ];
}

/** CRDs that lead to the webhook where their versions are converted. */
export function crdsOf({ name, resources }: OperatorParts, site: Site): CustomResourceDefinitionObject[] {
  return resources.map((resource) =>
    isConverted(resource) ? convertedCrd(resource, registrationOf(name, site)) : resource.crd(),
  );
}
