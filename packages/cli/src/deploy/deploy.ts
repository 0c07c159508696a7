/** Brings an operator into a cluster: its image, its manifests, and the wait until it works. */
import type { Client } from "@keelson/client";
import { Deployment, PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { CliError } from "../errors.ts";
import type { Manifest } from "../generate/manifests.ts";
import { applyManifests, deleteManifests, showManifest, until } from "./apply.ts";

export interface DeployOptions {
  readonly manifests: readonly Manifest[];
  readonly timeoutMs: number;
  readonly onProgress: (sentence: string) => void;
}

/** Applies everything and resolves when every replica of the new release is available. */
export async function deploy(client: Client, options: DeployOptions): Promise<void> {
  const { manifests, onProgress, timeoutMs } = options;
  await applyManifests(client, manifests, {
    onObject: (manifest) => onProgress(`applying ${showManifest(manifest)}`),
  });
  for (const manifest of manifests.filter(({ kind }) => kind === Deployment.kind)) {
    await available(client, manifest, { timeoutMs, onProgress });
  }
}

async function available(
  client: Client,
  { metadata }: Manifest,
  { onProgress, timeoutMs }: Pick<DeployOptions, "timeoutMs" | "onProgress">,
): Promise<void> {
  const target = { namespace: metadata.namespace ?? "", name: metadata.name };
  let seen = "";
  try {
    await until(
      client,
      timeoutMs,
      `Deployment ${target.namespace}/${target.name} is not available`,
      async () => {
        const live = await client.kind(Deployment).get(target);
        const wanted = live.spec?.replicas ?? 1;
        const {
          availableReplicas = 0,
          observedGeneration,
          replicas = 0,
          updatedReplicas = 0,
        } = live.status ?? {};
        const sentence = `${updatedReplicas} of ${wanted} replicas updated, ${availableReplicas} available`;
        if (sentence !== seen) onProgress(sentence);
        seen = sentence;
        return (
          observedGeneration === live.metadata.generation &&
          [availableReplicas, updatedReplicas, replicas].every((count) => count === wanted)
        );
      },
    );
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const why = await troubleOf(client, target);
    throw new CliError("NotReady", why === undefined ? error.message : `${error.message}: ${why}`, {
      cause: error,
    });
  }
}

/** What a pod of the Deployment waits for, in the kubelet's own words. */
async function troubleOf(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
): Promise<string | undefined> {
  const labels = `app.kubernetes.io/name=${name}`;
  const { items } = await client.kind(Pod).list({ namespace, labels });
  for (const { metadata, status } of items) {
    const unscheduled = status?.conditions?.find(
      (each) => each.type === "PodScheduled" && each.status === "False",
    );
    if (unscheduled?.message) return `${metadata.name}: ${unscheduled.message}`;
    for (const { lastState, ready, state } of status?.containerStatuses ?? []) {
      const { message, reason } = state?.waiting ?? {};
      const ended = lastState?.terminated?.message ?? "";
      if (reason !== undefined)
        return `${metadata.name}: ${[reason, message, ended].filter(Boolean).join(": ")}`;
      if (!ready)
        return `${metadata.name} is not ready; see kubectl --namespace ${namespace} logs ${metadata.name}`;
    }
  }
  return items.length === 0 ? "no pod was made; see the events of its ReplicaSet" : undefined;
}

export interface UndeployOptions {
  readonly manifests: readonly Manifest[];
  /** With them go all objects of their kinds. */
  readonly crds: boolean;
  /** How long an object may take until it is gone. Default: 60 s. */
  readonly timeoutMs?: number;
  readonly onProgress: (sentence: string) => void;
}

/** What undeploying left, and why. */
export type Left = readonly string[];

/** Takes everything away. Objects go first where they are to go, while the operator is there to finish them. */
export async function undeploy(client: Client, options: UndeployOptions): Promise<Left> {
  const { crds, manifests, onProgress, timeoutMs } = options;
  const onObject = (manifest: Manifest) => onProgress(`deleting ${showManifest(manifest)}`);
  const isCrd = ({ kind }: Manifest) => kind === "CustomResourceDefinition";
  const isNamespace = ({ kind }: Manifest) => kind === "Namespace";
  const left: string[] = [];
  const limits = { onObject, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  if (crds) {
    const all = manifests.filter(isCrd);
    await deleteManifests(client, all, limits).catch(async (error: unknown) => {
      const held = await heldObjects(client, all);
      if (held.length === 0) throw error;
      throw new CliError(
        "NotReady",
        `${held.join(", ")}: the operator must finish what it has begun before its kinds can go; see that it works (keelson deploy), then undeploy again`,
        { cause: error },
      );
    });
  } else
    left.push(
      ...manifests
        .filter(isCrd)
        .map((each) => `${showManifest(each)}: its objects would go with it (--crds)`),
    );
  await deleteManifests(
    client,
    manifests.filter((each) => !isCrd(each) && !isNamespace(each)),
    limits,
  );
  for (const namespace of manifests.filter(isNamespace)) {
    const used = await usesOf(client, namespace.metadata.name);
    if (used === undefined) await deleteManifests(client, [namespace], limits);
    else left.push(`${showManifest(namespace)}: it has ${used}`);
  }
  return left;
}

/** Objects of these kinds that a finalizer holds, the first three, each with what it waits for. */
async function heldObjects(client: Client, crds: readonly Manifest[]): Promise<string[]> {
  const held: string[] = [];
  for (const { spec } of crds as unknown as CustomResourceDefinitionObject[]) {
    const [version] = spec.versions.filter(({ served }) => served);
    const kind = await client
      .discover(`${spec.group}/${version?.name}`, spec.names.kind)
      .catch(() => undefined);
    const { items } = kind ? await client.kind(kind).list() : { items: [] };
    for (const { metadata } of items) {
      const { finalizers = [], name, namespace } = metadata;
      const where = namespace === undefined ? name : `${namespace}/${name}`;
      if (finalizers.length > 0) held.push(`${spec.names.kind} ${where} waits for ${finalizers.join(", ")}`);
    }
  }
  return held.slice(0, 3);
}

/** Something in a namespace that is not the operator's. */
async function usesOf(client: Client, namespace: string): Promise<string | undefined> {
  const [pods, claims] = await Promise.all([
    client.kind(Pod).list({ namespace }),
    client.kind(PersistentVolumeClaim).list({ namespace }),
  ]);
  if (claims.items.length > 0) return `${claims.items.length} volume claims`;
  return pods.items.length > 0 ? `${pods.items.length} pods` : undefined;
}
