/** What may differ from one installation of an operator to the next: the project's values.yaml, and that of its chart. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { z } from "zod";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";

/** The file in a project that its manifests, its chart and its bundle are made with. It may be absent. */
export const VALUES_FILE = "values.yaml";

const texts = z.record(z.string(), z.string());
/** An object of the Kubernetes API, which the API server validates. */
const block = z.record(z.string(), z.unknown());
const named = z.looseObject({ name: z.string().min(1) });

export const valuesSchema = z.strictObject({
  image: z
    .strictObject({
      repository: z.string().describe("Where the image is. Empty: the name of the package."),
      tag: z.string().describe("Empty: the version of the package."),
      digest: z.string().describe("sha256:…, which stands above the tag."),
      pullPolicy: z.enum(["", "Always", "IfNotPresent", "Never"]),
    })
    .describe("The image that the operator runs from."),
  imagePullSecrets: z.array(named).describe("Secrets with passwords of registries."),
  replicas: z.int().min(0).max(100).describe("One replica leads, the others stand by."),
  logLevel: z.enum(["debug", "info", "warn", "error"]),
  env: z.array(named).describe("Environment variables of the operator, as in a container."),
  envFrom: z.array(block),
  volumes: z.array(named).describe("Volumes of the operator's pod."),
  volumeMounts: z.array(named).describe("Where its container sees them."),
  resources: block.describe("What the container requests, and its limits."),
  podLabels: texts,
  podAnnotations: texts,
  nodeSelector: texts,
  tolerations: z.array(block),
  affinity: block,
  priorityClassName: z.string(),
  serviceAccount: z.strictObject({ annotations: texts }),
  metrics: z.strictObject({
    serviceMonitor: z
      .strictObject({ enabled: z.boolean(), interval: z.string().regex(/^\d+(ms|s|m|h)$/), labels: texts })
      .describe("For a cluster with the Prometheus operator."),
  }),
  networkPolicy: z.strictObject({
    enabled: z.boolean(),
    metricsFrom: z.array(block).describe("Who may read /metrics, as peers of a NetworkPolicy."),
  }),
  crds: z.strictObject({
    install: z.boolean().describe("The chart installs the CRDs. They stay when it is uninstalled."),
  }),
});

/** All settings of an installation. */
export type Values = z.infer<typeof valuesSchema>;

export const defaultValues: Values = {
  image: { repository: "", tag: "", digest: "", pullPolicy: "" },
  imagePullSecrets: [],
  replicas: 2,
  logLevel: "info",
  env: [],
  envFrom: [],
  volumes: [],
  volumeMounts: [],
  resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
  podLabels: {},
  podAnnotations: {},
  nodeSelector: {},
  tolerations: [],
  affinity: {},
  priorityClassName: "",
  serviceAccount: { annotations: {} },
  metrics: { serviceMonitor: { enabled: false, interval: "30s", labels: {} } },
  networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }] },
  crds: { install: true },
};

/** The values of a project: its file over the defaults. */
export function readValues(project: Project): Values {
  const path = join(project.directory, VALUES_FILE);
  const given = existsSync(path) ? parseValues(readFileSync(path, "utf8"), path) : {};
  const { image, ...rest } = valuesOver(given, path);
  const repository = image.repository || project.name;
  return { ...rest, image: { ...image, repository, tag: image.tag || project.version } };
}

/** Given values over the defaults, checked: a mistake is named with its place. */
export function valuesOver(given: unknown, path = VALUES_FILE): Values {
  const parsed = valuesSchema.safeParse(over(defaultValues, given));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.join(".") || "it";
  throw new CliError("BadValues", `${path} is invalid: ${place}: ${issue?.message ?? "unknown"}`);
}

function parseValues(text: string, path: string): unknown {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw new CliError("BadValues", `${path} is not YAML: ${error.message}`, { cause: error });
  return document.toJS() ?? {};
}

/** As Helm lays one over the other: maps key by key, everything else replaced. */
function over(base: unknown, given: unknown): unknown {
  if (given === undefined || given === null) return base;
  if (!isMap(base) || !isMap(given)) return given;
  const keys = new Set([...Object.keys(base), ...Object.keys(given)]);
  return Object.fromEntries([...keys].map((key) => [key, over(base[key], given[key])]));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The image as a pod names it. */
export function imageOf({ repository, tag, digest }: Values["image"]): string {
  return digest === "" ? `${repository}:${tag}` : `${repository}@${digest}`;
}
