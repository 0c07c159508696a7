/** Installs custom resources: their CRDs are applied, and served before anyone asks for them. */
import { ApiError, type Client, ClientError, isInvalid } from "@keelson/client";
import { type Condition, dynamicKind, findCondition } from "@keelson/core";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { RuntimeError } from "../errors.ts";

/** The kind of definitions. */
export const CustomResourceDefinition = dynamicKind({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  resource: "customresourcedefinitions",
  scope: "Cluster",
});

/** What has a CRD: the value that `resource()` returns. */
export interface Installable {
  crd(): CustomResourceDefinitionObject;
}

/** How CRDs are installed. */
export interface InstallOptions {
  /** How long the server may take to serve them. Default: 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const lookAgainMs = 50;

/**
 * Applies the CRDs and resolves when the server serves every version of them. What it refuses is told in one sentence
 * that names the field as the author wrote it. Needs more than an operator's own role holds: tools and tests call this.
 */
export async function install(
  client: Client,
  resources: readonly Installable[],
  options: InstallOptions = {},
): Promise<void> {
  const crds = resources.map((resource) => resource.crd());
  for (const crd of crds) {
    try {
      await client.kind(CustomResourceDefinition).apply(crd, { force: true, ...signalOf(options) });
    } catch (error) {
      throw isInvalid(error) ? refused(crd, error) : error;
    }
  }
  for (const crd of crds) await whenServed(client, crd, options);
}

/** Resolves when every version of a definition is served. A server tells of it a moment after it was established. */
export async function whenServed(
  client: Client,
  crd: CustomResourceDefinitionObject,
  options: InstallOptions = {},
): Promise<void> {
  const { clock } = client;
  const { timeoutMs = 30_000, signal } = options;
  const startedAt = clock.monotonic();
  for (;;) {
    const missing = await unserved(client, crd, options);
    if (missing === undefined) return;
    signal?.throwIfAborted();
    if (clock.monotonic() - startedAt >= timeoutMs) {
      throw new RuntimeError(
        "CrdRefused",
        `cannot install ${crd.metadata.name}: after ${timeoutMs / 1000} s the server still does not serve ${missing}; ` +
          `look at its conditions with kubectl describe crd ${crd.metadata.name}`,
      );
    }
    await new Promise<void>((resolve) => {
      clock.timer(lookAgainMs, resolve);
    });
  }
}

/** The first version that is not served yet. */
async function unserved(
  client: Client,
  crd: CustomResourceDefinitionObject,
  options: InstallOptions,
): Promise<string | undefined> {
  const { group, names, versions } = crd.spec;
  const live = await client.kind(CustomResourceDefinition).get(crd.metadata, signalOf(options));
  const { status } = live as { status?: { conditions?: Condition[] } };
  const accepted = findCondition(status?.conditions, "NamesAccepted");
  if (accepted?.status === "False") {
    throw new RuntimeError(
      "CrdRefused",
      `cannot install ${crd.metadata.name}: ${accepted.message}; another resource of the group ${group} has the name ` +
        "already, so give this one another kind, plural or short name",
    );
  }
  for (const version of versions) {
    if (!version.served) continue;
    const apiVersion = `${group}/${version.name}`;
    try {
      await client.discover(apiVersion, names.kind, signalOf(options));
      await client.raw({
        path: `/apis/${apiVersion}/${names.plural}?limit=1`,
        timeoutMs: 5_000,
        ...signalOf(options),
      });
    } catch (error) {
      const unknown = error instanceof ClientError && error.code === "KindUnknown";
      if (unknown || (error instanceof ApiError && (error.code === 404 || error.code === 503))) {
        return `${names.kind} at ${apiVersion}`;
      }
      throw error;
    }
  }
  return undefined;
}

/** The server's own words, under the name that the field has in the author's schema. */
function refused(crd: CustomResourceDefinitionObject, error: ApiError<"Invalid">): RuntimeError {
  const causes = error.status.details?.causes ?? [];
  const told = [...new Map(causes.map((cause) => [`${cause.field} ${cause.message}`, cause])).values()].map(
    ({ field = "", message = "" }) => `${placeOf(crd, field)}: ${plain(message)}`,
  );
  return new RuntimeError(
    "CrdRefused",
    `cannot install ${crd.metadata.name}: the server refuses ${told.join("; and ") || error.message}; correct it in ` +
      `resource({ kind: "${crd.spec.names.kind}" })`,
    { cause: error },
  );
}

/** `spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].default` is `spec.size.default`. */
function placeOf(crd: CustomResourceDefinitionObject, field: string): string {
  const match =
    /^spec\.(?:versions\[(\d+)\]\.schema|validation)\.openAPIV3Schema(?<path>.*)$/.exec(field) ?? undefined;
  if (!match) return field;
  const path = (match.groups?.["path"] ?? "")
    .replace(/\.properties\[([^\]]+)\]/g, ".$1")
    .replace(/\.additionalProperties/g, ".*")
    .replace(/\.items/g, "[]")
    .replace(/\.x-kubernetes-validations\[(\d+)\]\.rule$/, (_, index) => ` (rule ${Number(index) + 1})`)
    .replace(/^\./, "");
  const version = match[1] === undefined ? undefined : crd.spec.versions[Number(match[1])]?.name;
  return version !== undefined && crd.spec.versions.length > 1 ? `${path} of ${version}` : path;
}

/** The server shows a rule as its own record of it, and the compiler's answer with a drawing below. */
function plain(message: string): string {
  const [line = ""] = message.replace(/^Invalid value: \{"Rule":.*?\}: /, "").split("\n");
  return line;
}

function signalOf({ signal }: InstallOptions): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
