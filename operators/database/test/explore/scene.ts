/** What is said and done of a Database through the API server alone: in a simulation and with real processes alike. */
import type { Primary, Scene } from "@keelson/testing";
import { reasons } from "../../src/api/conditions.ts";
import { Database, type Spec, type Status } from "../../src/api/database.ts";
import { annotations } from "../../src/api/names.ts";

export const version = "15.1";

export function specOf(primary: Primary | undefined): Spec | undefined {
  return primary?.spec as unknown as Spec | undefined;
}

export function statusOf(primary: Primary | undefined): Partial<Status> {
  return (primary?.status ?? {}) as Partial<Status>;
}

/** Changes the spec as a user does. What the schema does not allow is refused, and nothing happens. */
export async function change(scene: Scene, spec: object): Promise<void> {
  const { primary, subject } = scene;
  if (!primary || primary.metadata.deletionTimestamp !== undefined) return;
  try {
    await scene.client.kind(Database).patch(subject.ref, { type: "merge", body: { spec } as never });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 422) throw error;
    scene.note(`refused: ${(error as Error).message.slice(0, 120)}`);
  }
}

/** What a spec must say to be one that can be reached. Versions: what it began with, and the newer major one. */
export function feasible(
  primary: Primary | undefined,
  versions: { readonly old: string; readonly next: string },
): object {
  const wanted = specOf(primary)?.version ?? versions.old;
  const { version: runs = "", upgrade, restore } = statusOf(primary);
  const isRestoring = /^(Restoring|Cloning|Done)$/.test(restore?.phase ?? "");
  const isNew = runs.startsWith("17") || (wanted.startsWith("17") && upgrade?.phase !== "Failed");
  return {
    ...{ paused: false, hibernate: false, parameters: null, pod: null },
    ...(isRestoring ? {} : { restoreInPlace: null }),
    version: isNew ? versions.next : versions.old,
  };
}

/**
 * Noted of a Database that was deleted before it took over what one of its name had left (`--cascade=orphan`): nothing is its
 * own, and everything stays for the next one.
 */
export const neverTakenOver = "never taken over";

/** What is missing for the spec to be reached, as far as Kubernetes knows. */
export function missingInStatus(scene: Scene): string | undefined {
  const { primary } = scene;
  if (!primary) {
    const [left] = scene.notes.get(neverTakenOver) === true ? [] : scene.pods;
    return left && `pod ${left.metadata.name} is left`;
  }
  if (primary.metadata.deletionTimestamp !== undefined) return "it is still being deleted";
  if (!scene.isReady) return "it is not Ready";
  const { readyInstances } = statusOf(primary);
  const instances = specOf(primary)?.instances;
  return readyInstances === instances ? undefined : `${readyInstances} of ${instances} instances are ready`;
}

/** Does what the status tells a person to do. */
export async function followAdvice(scene: Scene): Promise<string | undefined> {
  const { ref } = scene.subject;
  const ready = scene.condition("Ready");
  const message = ready?.message ?? "";
  const kind = scene.client.kind(Database);
  const approval = /annotate the Database: (\S+)=(\S+)/.exec(message);
  if (approval) {
    scene.notes.set("mayHaveLost", true);
    const body = { metadata: { annotations: { [approval[1] as string]: approval[2] as string } } };
    await kind.patch(ref, { type: "merge", body });
    return `annotates the Database with ${approval[0]}`;
  }
  if (message.includes("raise spec.storage.size")) {
    const storage = specOf(scene.primary)?.storage ?? { size: "1Gi" };
    const size = `${Number.parseInt(String(storage.size), 10) + 1}Gi`;
    await change(scene, { storage: { ...storage, size } });
    return `raises spec.storage.size to ${size}`;
  }
  if (ready?.reason === reasons.downgradeRefused) {
    const [, runs] = /set spec.version to (\S+?),/.exec(message) ?? [];
    await change(scene, { version: runs });
    return `sets spec.version to ${runs}`;
  }
  if (ready?.reason === reasons.upgradeFailed) {
    const attempts = Number(scene.notes.get("attempts") ?? 0) + 1;
    scene.notes.set("attempts", attempts);
    const body = { metadata: { annotations: { [annotations.retryUpgrade]: `again-${attempts}` } } };
    await kind.patch(ref, { type: "merge", body });
    return "asks for the upgrade again";
  }
  if (ready?.reason === reasons.dataMissing) {
    // Make it again: without a backup it begins empty.
    scene.notes.set("mayHaveLost", true);
    const spec = { ...scene.primary?.spec };
    await change(scene, { onDelete: "Delete" });
    await kind.delete(ref);
    for (let seconds = 0; seconds < 120 && scene.primary; seconds += 5) await scene.advance(5_000);
    await kind.create({ metadata: ref, spec: spec as never });
    return "makes the Database again";
  }
  return undefined;
}
