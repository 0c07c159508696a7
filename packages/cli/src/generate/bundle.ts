/** A bundle for the Operator Lifecycle Manager: what it installs, and how catalogs present it. */
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { PolicyRule } from "@keelson/runtime";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { CliError } from "../errors.ts";
import type { BundleSettings, OperatorParts, Project } from "../project.ts";
import { deploymentFor } from "./deployment.ts";
import { examplesOf } from "./examples.ts";
import type { Files } from "./kustomize.ts";
import { metricsService } from "./network.ts";
import { permissionsFor } from "./rbac.ts";
import type { Site } from "./site.ts";
import { servesWebhooks } from "./webhooks.ts";
import { olmSecretName, olmWebhookEnv, webhookDefinitions } from "./webhooks-olm.ts";
import { yamlOf } from "./yaml-text.ts";

/** As OperatorHub counts them. */
export const CAPABILITIES = [
  "Basic Install",
  "Seamless Upgrades",
  "Full Lifecycle",
  "Deep Insights",
  "Auto Pilot",
] as const;

export const DEFAULT_CHANNEL = "alpha";

export function capabilityOf({ about }: Project): (typeof CAPABILITIES)[number] {
  const said = about?.bundle?.capabilities ?? CAPABILITIES[0];
  const known = CAPABILITIES.find((each) => each.toLowerCase() === said.toLowerCase());
  if (known !== undefined) return known;
  throw new CliError(
    "BadBundle",
    `keelson.bundle.capabilities in package.json is "${said}"; it must be one of ${CAPABILITIES.join(", ")}`,
  );
}

export function csvName(name: string, { version }: Project): string {
  return `${name}.v${version}`;
}

export function bundleFiles(project: Project, parts: OperatorParts, site: Site): Files {
  const { name } = parts;
  const { channel = DEFAULT_CHANNEL } = settingsOf(project);
  const annotations = annotationsOf(name, channel);
  return new Map([
    [`manifests/${name}.clusterserviceversion.yaml`, yamlOf(clusterServiceVersion(project, parts, site))],
    ...parts.resources.map((resource): [string, string] => {
      // The lifecycle manager says itself where the webhook is that converts.
      const crd = resource.crd();
      return [`manifests/${crd.metadata.name}.yaml`, yamlOf(served(crd))];
    }),
    [`manifests/${name}-metrics.service.yaml`, yamlOf(withoutNamespace(metricsService(name, site)))],
    ["metadata/annotations.yaml", yamlOf({ annotations })],
    ["bundle.Dockerfile", dockerfile(annotations)],
  ]);
}

/** The versions that a webhook converts are served: the lifecycle manager puts the webhook there with the CRD. */
function served(crd: CustomResourceDefinitionObject): CustomResourceDefinitionObject {
  const versions = crd.spec.versions.map((each) => ({ ...each, served: true }));
  return { ...crd, spec: { ...crd.spec, versions } };
}

function settingsOf({ about }: Project): BundleSettings {
  return about?.bundle ?? {};
}

export function clusterServiceVersion(project: Project, parts: OperatorParts, site: Site): object {
  const { name } = parts;
  const { about = {}, version } = project;
  const { categories = ["Other"], displayName = titleOf(name), maturity = "alpha" } = settingsOf(project);
  const description = about.description ?? `Runs ${parts.resources.map(({ kind }) => kind).join(", ")}.`;
  return {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: {
      name: csvName(name, project),
      namespace: "placeholder",
      annotations: {
        "alm-examples": JSON.stringify(examplesOf(project, parts.resources), undefined, 2),
        capabilities: capabilityOf(project),
        categories: categories.join(", "),
        containerImage: site.image,
        description,
        ...(about.repository ? { repository: about.repository } : {}),
        ...(about.maintainers?.[0] ? { support: about.maintainers[0].name } : {}),
      },
    },
    spec: {
      displayName,
      description,
      version,
      minKubeVersion: "1.30.0",
      maturity,
      keywords: about.keywords ?? [name],
      provider: { name: about.maintainers?.[0]?.name ?? displayName },
      maintainers: (about.maintainers ?? []).filter(({ email }) => email !== undefined),
      links: [
        ...(about.homepage ? [{ name: "Home", url: about.homepage }] : []),
        ...(about.repository ? [{ name: "Source", url: about.repository }] : []),
      ],
      icon: iconOf(project),
      installModes: installModes(parts),
      install: { strategy: "deployment", spec: installSpec(parts, site) },
      customresourcedefinitions: { owned: parts.resources.flatMap((each) => ownedOf(each.crd())) },
      ...webhookDefinitions(parts),
      relatedImages: [{ name: "operator", image: site.image }],
    },
  };
}

/** Whose objects the operator looks at. Conversion needs all: a CRD has one webhook for the whole cluster. */
function installModes({ namespaces }: OperatorParts) {
  const supported =
    namespaces === undefined
      ? ["AllNamespaces"]
      : namespaces.length === 1
        ? ["OwnNamespace", "SingleNamespace"]
        : ["MultiNamespace"];
  return ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"].map((type) => ({
    type,
    supported: supported.includes(type),
  }));
}

function installSpec(parts: OperatorParts, site: Site) {
  const { name } = parts;
  const { cluster, own, watched } = permissionsFor(parts);
  const env = olmWebhookEnv(parts);
  const { metadata, spec } = deploymentFor(name, site, { servesWebhooks: servesWebhooks(parts), env });
  // What registers webhooks is the lifecycle manager's: an operator that it runs writes no authority anywhere.
  const registers = /^(admissionregistration|apiextensions)\.k8s\.io$/;
  const clusterRules = cluster.filter(({ apiGroups: [group = ""] }) => !registers.test(group));
  const rules = [...own.map((rule) => olmSecretRule(name, rule)), ...watched];
  return {
    ...(clusterRules.length > 0
      ? { clusterPermissions: [{ serviceAccountName: name, rules: clusterRules }] }
      : {}),
    permissions: [{ serviceAccountName: name, rules }],
    deployments: [{ name: metadata.name, label: metadata.labels, spec }],
  };
}

/** The Secret with the certificate is another one there, and the lifecycle manager keeps it. */
function olmSecretRule(name: string, rule: PolicyRule): PolicyRule {
  if (!rule.resources.includes("secrets")) return rule;
  return { ...rule, verbs: ["get", "list", "watch"], resourceNames: [olmSecretName(name)] };
}

function ownedOf({ metadata, spec }: CustomResourceDefinitionObject) {
  return spec.versions.map(({ name: version, schema }) => ({
    name: metadata.name,
    version,
    kind: spec.names.kind,
    displayName: titleOf(spec.names.kind),
    description: schema.openAPIV3Schema.description ?? `A ${titleOf(spec.names.kind)}.`,
  }));
}

function iconOf({ about, directory }: Project) {
  const { icon } = about?.bundle ?? {};
  if (icon === undefined) return [];
  const path = join(directory, icon);
  const mediatype = { ".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg" }[extname(icon)];
  if (!existsSync(path) || mediatype === undefined) {
    throw new CliError(
      "BadBundle",
      `keelson.bundle.icon in package.json names ${path}, which is no SVG, PNG or JPG`,
    );
  }
  return [{ base64data: readFileSync(path).toString("base64"), mediatype }];
}

function annotationsOf(name: string, channel: string): Record<string, string> {
  const prefix = "operators.operatorframework.io.bundle";
  return {
    [`${prefix}.mediatype.v1`]: "registry+v1",
    [`${prefix}.manifests.v1`]: "manifests/",
    [`${prefix}.metadata.v1`]: "metadata/",
    [`${prefix}.package.v1`]: name,
    [`${prefix}.channels.v1`]: channel,
    [`${prefix}.channel.default.v1`]: channel,
  };
}

function dockerfile(annotations: Readonly<Record<string, string>>): string {
  const labels = Object.entries(annotations).map(([key, value]) => `LABEL ${key}=${value}\n`);
  return `FROM scratch\n\n${labels.join("")}\nCOPY manifests /manifests/\nCOPY metadata /metadata/\n`;
}

/** Objects of a bundle go where it is installed. */
function withoutNamespace<T extends { metadata: object }>(object: T): T {
  const { namespace: _, ...metadata } = object.metadata as { namespace?: string };
  return { ...object, metadata };
}

/** `etcd-operator` and `EtcdCluster` as a title: `Etcd Operator`, `Etcd Cluster`. */
function titleOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").split(/[-\s]/);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
}
