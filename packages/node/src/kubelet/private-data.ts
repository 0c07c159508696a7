/** The data directory of a node, closed to the machine's other users. */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** Where files of pods lie: Secrets among them, and volumes that every user may write. */
const partsWithPodFiles = ["pods", "logs", "volumes"];

/** Makes the directory and closes the parts with pods' files: the directory itself may be a person's, open to others. */
export function makePrivate(dataDirectory: string): void {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  for (const part of partsWithPodFiles) {
    const path = join(dataDirectory, part);
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o700);
  }
}
