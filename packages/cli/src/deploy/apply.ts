/** Applies manifests in their order, and takes them away again. */
import { type Client, ClientError, isNotFound } from "@keelson/client";
import { errorText } from "@keelson/core/internal";
import { whenServed } from "@keelson/runtime/internal";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { CliError } from "../errors.ts";
import type { Manifest } from "../generate/manifests.ts";

export interface ApplyOptions {
  /** Called before each object. */
  readonly onObject?: (manifest: Manifest) => void;
  /** How long a CRD may take until it is served. Default: 30 s. */
  readonly timeoutMs?: number;
  /** Default: keelson-deploy. */
  readonly fieldManager?: string;
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
    await applyManifest(client, manifest, options);
  }
}

/** Without a namespace of its own it goes to that of the kubeconfig's context. Throws in one sentence. */
export async function applyManifest(
  client: Client,
  manifest: Manifest,
  options: ApplyOptions = {},
): Promise<void> {
  try {
    const kind = await client.discover(manifest.apiVersion, manifest.kind);
    const namespace = kind.scope === "Namespaced" ? { namespace: client.namespace } : {};
    const object = { ...manifest, metadata: { ...namespace, ...manifest.metadata } };
    const { fieldManager = "keelson-deploy" } = options;
    await client.kind(kind).apply(object as never, { force: true, fieldManager });
    if (manifest.kind === "CustomResourceDefinition")
      await whenServed(client, manifest as unknown as CustomResourceDefinitionObject, options);
  } catch (cause) {
    throw refusal("apply", manifest, cause);
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
      throw refusal("delete", manifest, cause);
    }
  }
}

/** Most of what the client throws says itself what it was about. */
function refusal(verb: "apply" | "delete", manifest: Manifest, cause: unknown): CliError {
  const message = errorText(cause);
  const sentence = message.startsWith("cannot ")
    ? message
    : `cannot ${verb} ${showManifest(manifest)}: ${message}`;
  return new CliError("CannotApply", sentence, { cause });
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
