/** Every kind that the server serves, custom ones too, as its discovery tells. */
import type { Client } from "@keelson/client";
import { type AnyKind, dynamicKind } from "@keelson/core";
import type { metaV1 } from "@keelson/core/kinds";

export interface ServedKind {
  readonly kind: AnyKind;
  readonly verbs: readonly string[];
}

export interface Discovered {
  /** One version of each kind: the one that its group prefers, or the first that serves it. */
  readonly kinds: readonly ServedKind[];
  /** Groups that did not answer, as those of a server that is down: nothing is known of their kinds. */
  readonly failures: readonly { readonly groupVersion: string; readonly message: string }[];
}

export async function discoverAll(client: Client, signal?: AbortSignal): Promise<Discovered> {
  const options = signal ? { signal } : {};
  const groups = (await client.raw({ path: "/apis", ...options })) as unknown as metaV1.APIGroupList;
  const versions = [["", "v1", "/api/v1"] as const];
  for (const { name, preferredVersion, versions: all } of groups.groups) {
    const preferred = preferredVersion?.version;
    const order = all.toSorted((a, b) => Number(b.version === preferred) - Number(a.version === preferred));
    for (const { version, groupVersion } of order)
      versions.push([name, version, `/apis/${groupVersion}`] as never);
  }
  const kinds = new Map<string, ServedKind>();
  const failures: { groupVersion: string; message: string }[] = [];
  const answers = await Promise.allSettled(
    versions.map(([, , path]) => client.raw({ path, ...options }) as Promise<unknown>),
  );
  for (const [index, answer] of answers.entries()) {
    const [group = "", version = ""] = versions[index] ?? [];
    if (answer.status === "rejected") {
      const message = answer.reason instanceof Error ? answer.reason.message : String(answer.reason);
      failures.push({ groupVersion: group ? `${group}/${version}` : version, message });
      continue;
    }
    for (const resource of (answer.value as metaV1.APIResourceList).resources) {
      if (resource.name.includes("/") || kinds.has(`${group}/${resource.name}`)) continue;
      kinds.set(`${group}/${resource.name}`, {
        kind: dynamicKind({
          group,
          version,
          kind: resource.kind,
          resource: resource.name,
          scope: resource.namespaced ? "Namespaced" : "Cluster",
        }),
        verbs: resource.verbs,
      });
    }
  }
  return { kinds: [...kinds.values()], failures };
}
