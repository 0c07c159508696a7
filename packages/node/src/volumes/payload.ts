/** The files that config maps, secrets, the downward API, tokens and projections put into a volume. */
import type {
  ConfigMapVolumeSource,
  Container,
  DownwardAPIVolumeFile,
  KeyToPath,
  SecretVolumeSource,
  Volume,
  VolumeProjection,
} from "@keelson/core/kinds";
import { type DownwardContext, fieldValue, resourceValue } from "../environment/downward.ts";
import type { References } from "../environment/environment.ts";
import { NodeError } from "../errors.ts";
import type { FileContent } from "./atomic-directory.ts";

export type Payload = Map<string, FileContent>;

export interface PayloadContext {
  readonly namespace: string;
  readonly containers: readonly Container[];
  readonly downward: DownwardContext;
  readonly references: References;
  /** A token for the pod's service account, fresh enough. */
  readonly token: (audience: string | undefined, expirationSeconds: number) => Promise<string>;
  /** Files are given to the pod's group, so that group must be able to read them. */
  readonly fsGroup: number | undefined;
}

/** Undefined for volumes that are no set of files. */
export async function volumePayload(volume: Volume, context: PayloadContext): Promise<Payload | undefined> {
  if (volume.configMap !== undefined) {
    return await configMapFiles(volume.configMap, volume.configMap.defaultMode ?? 0o644, context);
  }
  if (volume.secret !== undefined) {
    const { secretName = "", items, optional, defaultMode } = volume.secret;
    return await secretFiles({ name: secretName, items, optional }, defaultMode ?? 0o644, context);
  }
  if (volume.downwardAPI !== undefined) {
    return downwardFiles(volume.downwardAPI.items ?? [], volume.downwardAPI.defaultMode ?? 0o644, context);
  }
  if (volume.projected !== undefined) {
    const mode = volume.projected.defaultMode ?? 0o644;
    const all: Payload = new Map();
    for (const source of volume.projected.sources ?? []) {
      for (const [path, content] of await projectionFiles(source, mode, context)) all.set(path, content);
    }
    return all;
  }
  return undefined;
}

async function projectionFiles(
  source: VolumeProjection,
  mode: number,
  context: PayloadContext,
): Promise<Payload> {
  if (source.configMap !== undefined) return await configMapFiles(source.configMap, mode, context);
  if (source.secret !== undefined) return await secretFiles(source.secret, mode, context);
  if (source.downwardAPI !== undefined) return downwardFiles(source.downwardAPI.items ?? [], mode, context);
  if (source.serviceAccountToken !== undefined) {
    const { audience, expirationSeconds, path } = source.serviceAccountToken;
    const token = await context.token(audience || undefined, expirationSeconds ?? 3600);
    // Tokens are for the pod's user alone, or for its group where it has one.
    const tokenMode = context.fsGroup === undefined ? mode : 0o640;
    return new Map([[path, { data: Buffer.from(token), mode: tokenMode }]]);
  }
  if (source.clusterTrustBundle !== undefined) {
    if (source.clusterTrustBundle.optional) return new Map();
    throw new NodeError("Unsupported", "cluster trust bundles are not supported by this node");
  }
  return new Map();
}

async function configMapFiles(
  source: Pick<ConfigMapVolumeSource, "name" | "items" | "optional">,
  mode: number,
  context: PayloadContext,
): Promise<Payload> {
  const { name = "", items, optional } = source;
  const found = await context.references.configMap(context.namespace, name);
  if (found === undefined) {
    if (optional) return new Map();
    throw new NodeError("MountFailed", `configmap ${JSON.stringify(name)} not found`);
  }
  const data = new Map<string, Buffer>();
  for (const [key, value] of Object.entries(found.data ?? {})) data.set(key, Buffer.from(value));
  for (const [key, value] of Object.entries(found.binaryData ?? {}))
    data.set(key, Buffer.from(value, "base64"));
  return select(data, items, mode, optional, `configmap references non-existent config key`, context);
}

async function secretFiles(
  source: Pick<SecretVolumeSource, "items" | "optional"> & { name?: string },
  mode: number,
  context: PayloadContext,
): Promise<Payload> {
  const { name = "", items, optional } = source;
  const found = await context.references.secret(context.namespace, name);
  if (found === undefined) {
    if (optional) return new Map();
    throw new NodeError("MountFailed", `secret ${JSON.stringify(name)} not found`);
  }
  const data = new Map(
    Object.entries(found.data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64")]),
  );
  return select(data, items, mode, optional, "references non-existent secret key", context);
}

function select(
  data: ReadonlyMap<string, Buffer>,
  items: readonly KeyToPath[] | undefined,
  mode: number,
  optional: boolean | undefined,
  complaint: string,
  context: PayloadContext,
): Payload {
  const files: Payload = new Map();
  if (items === undefined || items.length === 0) {
    for (const [key, content] of data) files.set(key, { data: content, mode: forGroup(mode, context) });
    return files;
  }
  for (const item of items) {
    const content = data.get(item.key);
    if (content !== undefined)
      files.set(item.path, { data: content, mode: forGroup(item.mode ?? mode, context) });
    else if (!optional) throw new NodeError("MountFailed", `${complaint}: ${item.key}`);
  }
  return files;
}

function downwardFiles(
  items: readonly DownwardAPIVolumeFile[],
  mode: number,
  context: PayloadContext,
): Payload {
  const files: Payload = new Map();
  for (const item of items) {
    const { fieldRef, resourceFieldRef } = item;
    const container = context.containers.find(({ name }) => name === resourceFieldRef?.containerName);
    const text =
      fieldRef !== undefined
        ? fieldValue(fieldRef, context.downward)
        : resourceFieldRef !== undefined && container !== undefined
          ? resourceValue(resourceFieldRef, container, context.downward)
          : "";
    files.set(item.path, { data: Buffer.from(text), mode: forGroup(item.mode ?? mode, context) });
  }
  return files;
}

function forGroup(mode: number, { fsGroup }: PayloadContext): number {
  return fsGroup === undefined ? mode : mode | 0o040;
}
