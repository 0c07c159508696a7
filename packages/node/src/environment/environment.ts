/** The environment of a container: what it declares, what it refers to, and the services around it. */
import type { ConfigMap, Container, EnvVar, Pod, Secret } from "@keelson/core/kinds";
import { NodeError } from "../errors.ts";
import { type DownwardContext, fieldValue, resourceValue } from "./downward.ts";
import { expand } from "./expansion.ts";

/** Reads of what a pod refers to. Undefined means that there is none. */
export interface References {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string): Promise<Secret | undefined>;
}

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container;
  /** Every container of the pod, for `resourceFieldRef.containerName`. */
  readonly containers: readonly Container[];
  readonly services: Readonly<Record<string, string>>;
  readonly downward: DownwardContext;
  readonly references: References;
}

/** Later entries win over earlier ones, and all of them over the services' variables. */
export async function containerEnvironment(input: EnvironmentInput): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const source of input.container.envFrom ?? []) {
    const data = await sourceData(source, input);
    for (const [key, value] of Object.entries(data)) values[`${source.prefix ?? ""}${key}`] = value;
  }
  const known: Record<string, string> = { ...input.services, ...values };
  for (const variable of input.container.env ?? []) {
    const value = await variableValue(variable, known, input);
    if (value === undefined) continue;
    values[variable.name] = value;
    known[variable.name] = value;
  }
  return { ...input.services, ...values };
}

async function sourceData(
  source: NonNullable<Container["envFrom"]>[number],
  { pod, references }: EnvironmentInput,
): Promise<Record<string, string>> {
  const namespace = pod.metadata?.namespace ?? "";
  if (source.configMapRef !== undefined) {
    const { name = "", optional } = source.configMapRef;
    const found = await references.configMap(namespace, name);
    if (found === undefined && !optional) throw missing("configmap", name);
    return found?.data ?? {};
  }
  if (source.secretRef !== undefined) {
    const { name = "", optional } = source.secretRef;
    const found = await references.secret(namespace, name);
    if (found === undefined && !optional) throw missing("secret", name);
    return Object.fromEntries(Object.entries(found?.data ?? {}).map(([key, value]) => [key, decode(value)]));
  }
  return {};
}

async function variableValue(
  variable: EnvVar,
  known: Readonly<Record<string, string>>,
  input: EnvironmentInput,
): Promise<string | undefined> {
  const from = variable.valueFrom;
  if (from === undefined) return expand(variable.value ?? "", known);
  const namespace = input.pod.metadata?.namespace ?? "";
  if (from.fieldRef !== undefined) return fieldValue(from.fieldRef, input.downward);
  if (from.resourceFieldRef !== undefined) {
    const { containerName } = from.resourceFieldRef;
    const container = input.containers.find(({ name }) => name === containerName) ?? input.container;
    return resourceValue(from.resourceFieldRef, container, input.downward);
  }
  if (from.configMapKeyRef !== undefined) {
    const { name = "", key, optional } = from.configMapKeyRef;
    const found = await input.references.configMap(namespace, name);
    if (found === undefined && !optional) throw missing("configmap", name);
    return keyOrNothing(found?.data?.[key], key, optional, `ConfigMap ${namespace}/${name}`);
  }
  if (from.secretKeyRef !== undefined) {
    const { name = "", key, optional } = from.secretKeyRef;
    const found = await input.references.secret(namespace, name);
    if (found === undefined && !optional) throw missing("secret", name);
    const value = found?.data?.[key];
    return keyOrNothing(
      value === undefined ? undefined : decode(value),
      key,
      optional,
      `Secret ${namespace}/${name}`,
    );
  }
  return "";
}

function keyOrNothing(value: string | undefined, key: string, optional: boolean | undefined, where: string) {
  if (value !== undefined || optional) return value;
  throw new NodeError("ContainerConfig", `couldn't find key ${key} in ${where}`);
}

function missing(resource: string, name: string): NodeError {
  return new NodeError("ContainerConfig", `${resource} ${JSON.stringify(name)} not found`);
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}
