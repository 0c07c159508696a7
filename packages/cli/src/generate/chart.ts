/** A Helm chart: the same manifests, with places for what its values say. */
import { z } from "zod";
import type { OperatorParts, Project } from "../project.ts";
import type { Files } from "./kustomize.ts";
import { type Installation, installationOf, type Manifest } from "./manifests.ts";
import { labelsOf } from "./site.ts";
import { bare, block, entries, items, templateOf, text } from "./template.ts";
import { type Values, valuesSchema } from "./values.ts";
import { yamlOf } from "./yaml-text.ts";

export function chartFiles(project: Project, parts: OperatorParts, values: Values): Files {
  const { name } = parts;
  const installation = installationOf(parts, {
    namespace: text(".Release.Namespace"),
    image: text(`include "${name}.image" .`),
    labels: labelsOf(name, project),
    values: places,
  });
  return new Map([
    ["Chart.yaml", chart(project, name)],
    ["values.yaml", yamlOf({ ...values, image: chartImage(values, project) })],
    ["values.schema.json", `${JSON.stringify(schema(), undefined, 2)}\n`],
    [".helmignore", "*.tgz\n"],
    ["templates/_helpers.tpl", helpers(name)],
    ["templates/NOTES.txt", notes(name, parts)],
    ...templates(installation),
  ]);
}

/** The version of the chart is that of the operator: empty, the tag follows it. */
function chartImage({ image }: Values, { version }: Project): Values["image"] {
  return { ...image, tag: image.tag === version ? "" : image.tag };
}

/** A place for each value. */
const places: Values = {
  image: { repository: "", tag: "", digest: "", pullPolicy: block(".Values.image.pullPolicy") },
  imagePullSecrets: block(".Values.imagePullSecrets"),
  replicas: bare(".Values.replicas"),
  logLevel: text(".Values.logLevel") as never,
  env: items(".Values.env"),
  envFrom: block(".Values.envFrom"),
  volumes: block(".Values.volumes"),
  volumeMounts: block(".Values.volumeMounts"),
  resources: block(".Values.resources"),
  podLabels: entries(".Values.podLabels"),
  podAnnotations: entries(".Values.podAnnotations"),
  nodeSelector: block(".Values.nodeSelector"),
  tolerations: block(".Values.tolerations"),
  affinity: block(".Values.affinity"),
  priorityClassName: block(".Values.priorityClassName") as never,
  serviceAccount: { annotations: block(".Values.serviceAccount.annotations") },
  metrics: {
    serviceMonitor: {
      enabled: true,
      interval: text(".Values.metrics.serviceMonitor.interval"),
      labels: entries(".Values.metrics.serviceMonitor.labels"),
    },
  },
  networkPolicy: { enabled: true, metricsFrom: block(".Values.networkPolicy.metricsFrom") },
  crds: { install: true },
};

function templates(installation: Installation): [string, string][] {
  const { crds, networkPolicy, policies, rbac, serviceMonitor, webhooks, workload } = installation;
  const all: [string, readonly Manifest[], string?][] = [
    ...crds.map((crd): [string, Manifest[], string] => [
      `crds/${crd.metadata.name}`,
      [kept(crd)],
      ".Values.crds.install",
    ]),
    ["rbac", rbac],
    ["deployment", workload],
    ["webhooks", webhooks],
    ["policies", policies],
    ["network-policy", [networkPolicy], ".Values.networkPolicy.enabled"],
    ["service-monitor", [serviceMonitor], ".Values.metrics.serviceMonitor.enabled"],
  ];
  return all
    .filter(([, objects]) => objects.length > 0)
    .map(([path, objects, condition]) => {
      const template = templateOf(yamlOf(...objects));
      const whole = condition === undefined ? template : `{{- if ${condition} }}\n${template}{{- end }}\n`;
      return [`templates/${path}.yaml`, whole];
    });
}

/** With a CRD go all objects of its kind: Helm leaves it. */
function kept(crd: Manifest): Manifest {
  const annotations = { "helm.sh/resource-policy": "keep" };
  return { ...crd, metadata: { ...crd.metadata, annotations } as Manifest["metadata"] };
}

function chart({ about = {}, version }: Project, name: string): string {
  return yamlOf({
    apiVersion: "v2",
    name,
    description: about.description ?? `The ${name} operator.`,
    type: "application",
    version,
    appVersion: version,
    ...(about.keywords?.length ? { keywords: about.keywords } : {}),
    ...(about.homepage ? { home: about.homepage } : {}),
    ...(about.maintainers?.length ? { maintainers: about.maintainers } : {}),
  });
}

/** What Helm checks values against, in the dialect that all of its releases read. */
function schema(): object {
  const { $schema: _, ...rest } = z.toJSONSchema(valuesSchema, { target: "draft-7", io: "input" });
  const open = { ...rest, required: undefined };
  // Helm adds `global` to the values of a chart inside another.
  const properties = { ...(rest.properties ?? {}), global: { type: "object" } };
  return { $schema: "http://json-schema.org/draft-07/schema#", ...open, properties };
}

function helpers(name: string): string {
  return `{{- /* The image, by digest where there is one. */}}
{{- define "${name}.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}
`;
}

function notes(name: string, { resources }: OperatorParts): string {
  const kinds = resources.map(({ kind }) => kind).join(", ");
  return `${name} {{ .Chart.AppVersion }} runs in {{ .Release.Namespace }}${kinds && `, for ${kinds}`}.

  kubectl --namespace {{ .Release.Namespace }} rollout status deployment/${name}
`;
}
