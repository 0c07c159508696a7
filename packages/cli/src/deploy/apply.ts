/** Applies manifests in their order, and takes them away again. */
import { type Client, ClientError, isNotFound } from "@keelson/client";
import type { KubeObject } from "@keelson/core";
import { CliError } from "../errors.ts";
import type { Manifest } from "../generate/manifests.ts";

export interface ApplyOptions {
  /** Called before each object. */
  readonly onObject?: (manifest: Manifest) => void;
  /** How long a CRD may take until it is served. Default: 30 s. */
  readonly timeoutMs?: number;
}

const lookAgainMs = 50;

/** `Deployment cache/cache-operator` */
export function showManifest({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;
}

/** Server-side apply of each; a CRD is served before the next one is applied. */
export async function applyManifests(
  client: Client,
  manifests: readonly Manifest[],
  options: ApplyOptions = {},
): Promise<void> {
  for (const manifest of manifests) {
    options.onObject?.(manifest);
    const kind = await kindOf(client, manifest);
    try {
      await client.kind(kind).apply(manifest as never, { force: true, fieldManager: "keelson-deploy" });
    } catch (cause) {
      throw new CliError("CannotApply", `cannot apply ${showManifest(manifest)}: ${messageOf(cause)}`, {
        cause,
      });
    }
    if (manifest.kind === "CustomResourceDefinition") await established(client, manifest, options);
  }
}

/** In the reverse order; what is gone already is no error. Resolves when each has gone. */
export async function deleteManifests(
  client: Client,
  manifests: readonly Manifest[],
  options: ApplyOptions = {},
): Promise<void> {
  for (const manifest of manifests.toReversed()) {
    options.onObject?.(manifest);
    try {
      const kind = await client.discover(manifest.apiVersion, manifest.kind);
      // The Deployment is gone when its pods are: they give back their lease while they still may.
      const propagation = manifest.kind === "Deployment" ? "Foreground" : "Background";
      await client.kind(kind).delete(manifest.metadata, { propagation });
      await gone(client, manifest, options.timeoutMs ?? 60_000);
    } catch (cause) {
      if (isNotFound(cause) || (cause instanceof ClientError && cause.code === "KindUnknown")) continue;
      if (cause instanceof CliError) throw cause;
      throw new CliError("CannotApply", `cannot delete ${showManifest(manifest)}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }
}

async function kindOf(client: Client, manifest: Manifest) {
  try {
    return await client.discover(manifest.apiVersion, manifest.kind);
  } catch (cause) {
    throw new CliError("CannotApply", `cannot apply ${showManifest(manifest)}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

async function established(client: Client, manifest: Manifest, { timeoutMs = 30_000 }: ApplyOptions) {
  const kind = await client.discover(manifest.apiVersion, manifest.kind);
  await until(client, timeoutMs, `${manifest.metadata.name} is not served`, async () => {
    const live = (await client.kind(kind).get(manifest.metadata)) as KubeObject as {
      status?: { conditions?: { type: string; status: string }[] };
    };
    return live.status?.conditions?.some(({ status, type }) => type === "Established" && status === "True");
  });
}

async function gone(client: Client, manifest: Manifest, timeoutMs: number): Promise<void> {
  const kind = await client.discover(manifest.apiVersion, manifest.kind);
  const problem = `${showManifest(manifest)} is still there: something that it waits for has not let it go`;
  await until(client, timeoutMs, problem, async () => {
    return (await client.kind(kind).find(manifest.metadata)) === undefined;
  });
}

/** Looks until it holds. */
export async function until(
  client: Client,
  timeoutMs: number,
  problem: string,
  holds: () => Promise<boolean | undefined>,
): Promise<void> {
  const { clock } = client;
  const startedAt = clock.monotonic();
  while (!(await holds())) {
    if (clock.monotonic() - startedAt >= timeoutMs) {
      throw new CliError("NotReady", `${problem} after ${timeoutMs / 1000} s`);
    }
    await new Promise<void>((resolve) => {
      clock.timer(lookAgainMs, resolve);
    });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
