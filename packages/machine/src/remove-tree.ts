/** Removes directories in which pods and overlays left what its owner cannot even look into, from outside their namespace. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { chooseIdMap, writeIdMap } from "./id-map.ts";

const gate = 'echo ready >&3; read -r _ || exit 1; exec rm -rf -- "$@"';

/** With everything in it, whichever of our ids owns it and whatever its modes are. No error when it is absent. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code !== "EACCES" && code !== "EPERM") || process.getuid?.() === 0) throw error;
    await removeAsTheirRoot(path);
  }
}

/** In a namespace where those ids are known, its root may look into and remove what they own. */
async function removeAsTheirRoot(path: string): Promise<void> {
  const child = spawn("unshare", ["--user", "sh", "-c", gate, "sh", path], {
    stdio: ["pipe", "ignore", "pipe", "pipe"],
  });
  let complaint = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  child.stdin?.on("error", () => undefined);
  const closed = once(child, "close") as Promise<[number | null]>;
  const ready = child.stdio[3];
  await Promise.race([ready === null || ready === undefined ? closed : once(ready, "data"), closed]);
  if (child.pid !== undefined && child.exitCode === null) writeIdMap(child.pid, chooseIdMap());
  child.stdin?.end("go\n");
  const [code] = await closed;
  if (code !== 0) throw new Error(`cannot remove ${path}: ${complaint.trim()}`);
}
