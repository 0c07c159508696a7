/** Keeps what is known of a pod's containers on disk, so that a node that comes back knows what had run. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseJson } from "@keelson/core";
import type { PodStatus } from "@keelson/core/kinds";
import type { ContainerRecord, Termination } from "./container-record.ts";

interface SavedRecord {
  readonly name: string;
  readonly state: ContainerRecord["state"];
  readonly containerId?: string;
  readonly image?: string;
  readonly imageId?: string;
  readonly startedAt?: number;
  readonly termination?: Termination;
  readonly previous?: Termination;
  readonly attempts: number;
}

export async function saveRecords(path: string, records: readonly ContainerRecord[]): Promise<void> {
  const saved = records.map(
    ({
      name,
      state,
      containerId,
      image,
      imageId,
      startedAt,
      termination,
      previous,
      attempts,
    }): SavedRecord => ({
      ...{ name, state, containerId, image, imageId, startedAt, termination, previous, attempts },
    }),
  );
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, JSON.stringify(saved));
  await rename(`${path}.new`, path);
}

/**
 * Brings back what an earlier life of the node knew; what ran then was killed with it. Without records of our
 * own, the status that was last published has to do.
 */
export async function restoreRecords(
  path: string,
  records: readonly ContainerRecord[],
  status: PodStatus | undefined,
  now: number,
): Promise<void> {
  // There are none, or a power cut emptied the file.
  const saved = await readFile(path, "utf8")
    .then((text) => parseJson(text) as unknown as SavedRecord[])
    .catch(() => undefined);
  for (const record of records) {
    const found = saved?.find(({ name }) => name === record.name);
    if (found !== undefined) {
      Object.assign(record, found);
      if (found.state === "running") endUnseen(record, { exitCode: 255, reason: "Unknown", finishedAt: now });
    } else if (saved === undefined) restoreFromStatus(record, status);
  }
}

function restoreFromStatus(record: ContainerRecord, status: PodStatus | undefined): void {
  const published = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find(({ name }) => name === record.name);
  const ran = published?.state?.running ?? published?.state?.terminated ?? published?.lastState?.terminated;
  if (published === undefined || ran === undefined) return;
  record.attempts = published.restartCount + 1;
  record.containerId = published.containerID;
  record.imageId = published.imageID;
  const ended = published.state?.terminated;
  if (ended === undefined) {
    const message =
      "The container could not be located when the pod was deleted.  The container used to be Running";
    endUnseen(record, { exitCode: 137, reason: "ContainerStatusUnknown", message });
    return;
  }
  endUnseen(record, { exitCode: ended.exitCode, reason: ended.reason ?? "Unknown", message: ended.message });
}

function endUnseen(record: ContainerRecord, end: Omit<Termination, "containerId">): void {
  record.state = "exited";
  record.termination = { containerId: record.containerId ?? "", startedAt: record.startedAt, ...end };
}
