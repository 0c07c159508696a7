/** What a pod reads of Secrets and ConfigMaps: mounted files, and the environment. */
import type { StoredObjects } from "@keelson/apiserver";
import type { ContainerSpec, PodObject } from "./process.ts";

/** A container cannot start because something that its pod names is not there. */
export class MissingFile extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MissingFile";
  }
}

/** The files of a volume that a Secret or ConfigMap is mounted as. Throws {@link MissingFile} unless it is optional. */
export function filesOf(
  pod: PodObject,
  volume: string,
  stored: StoredObjects,
): Readonly<Record<string, string>> {
  const { namespace = "" } = pod.metadata;
  const source = pod.spec?.volumes?.find(({ name }) => name === volume);
  const secret = source?.secret?.secretName;
  if (secret !== undefined) {
    const found = stored.get("secrets", secret, namespace) as { data?: Record<string, string> } | undefined;
    if (found) return decoded(found.data);
    if (!source?.secret?.optional) throw new MissingFile(`secret "${secret}" not found`);
  }
  const map = source?.configMap?.name;
  if (map !== undefined) {
    const found = stored.get("configmaps", map, namespace) as { data?: Record<string, string> } | undefined;
    if (found) return found.data ?? {};
    if (!source?.configMap?.optional) throw new MissingFile(`configmap "${map}" not found`);
  }
  return {};
}

function decoded(data: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}

/** A container's environment as it is resolved at a start. */
export function environmentOf(
  pod: PodObject,
  container: ContainerSpec,
  stored: StoredObjects,
): Readonly<Record<string, string>> {
  const { namespace = "", name, annotations = {}, labels = {} } = pod.metadata;
  const out: Record<string, string> = {};
  for (const { name: key, value, valueFrom } of container.env ?? []) {
    const { fieldRef, secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    if (fieldRef) {
      const [, kind, field] = /^metadata\.(annotations|labels)\['(.*)'\]$/.exec(fieldRef.fieldPath) ?? [];
      const plain: Record<string, string | undefined> = {
        "metadata.name": name,
        "metadata.namespace": namespace,
        "metadata.uid": pod.metadata.uid,
        "status.podIP": pod.status?.podIP,
        "spec.nodeName": pod.spec?.nodeName,
      };
      out[key] =
        field === undefined
          ? (plain[fieldRef.fieldPath] ?? "")
          : ((kind === "labels" ? labels : annotations)[field] ?? "");
    } else if (secretKeyRef || configMapKeyRef) {
      const ref = secretKeyRef ?? configMapKeyRef;
      const kind = secretKeyRef ? "secrets" : "configmaps";
      const found = stored.get(kind, ref?.name ?? "", namespace) as
        | { data?: Record<string, string> }
        | undefined;
      const text = found?.data?.[ref?.key ?? ""];
      if (text !== undefined) out[key] = secretKeyRef ? Buffer.from(text, "base64").toString() : text;
      else if (!ref?.optional) throw new MissingFile(`${kind.slice(0, -1)} "${ref?.name}" not found`);
    } else out[key] = value ?? "";
  }
  return out;
}
