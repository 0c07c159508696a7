/** Which user and group ids exist inside the node's namespace. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";

/**
 * `all`: every id of the machine, as root. `range`: root and a range of subordinate ids. `single`: one id that
 * plays root; files cannot change owner, and a container that asks for another user sees itself as that user.
 */
export type IdMode = "all" | "range" | "single";

/** The user and group ids of a namespace. */
export interface IdMap {
  readonly mode: IdMode;
  readonly uids: readonly IdExtent[];
  readonly gids: readonly IdExtent[];
}

/** A range of user or group ids: where it begins inside, where outside, and how many. */
export interface IdExtent {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

/** The best map this process may ask for. `newuidmap` is used when it is installed and ids are granted. */
export function chooseIdMap(): IdMap {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  if (uid === 0) {
    const identity = (path: string) =>
      parseKernelMap(readFileSync(path, "utf8")).map(({ inside, count }) => ({
        inside,
        outside: inside,
        count,
      }));
    return { mode: "all", uids: identity("/proc/self/uid_map"), gids: identity("/proc/self/gid_map") };
  }
  const own = {
    uids: [{ inside: 0, outside: uid, count: 1 }],
    gids: [{ inside: 0, outside: gid, count: 1 }],
  };
  const name = userInfo().username;
  const uids = subordinate("/etc/subuid", name, uid);
  const gids = subordinate("/etc/subgid", name, uid);
  const tool = spawnSync("newuidmap", [], { stdio: "ignore" });
  if (uids === undefined || gids === undefined || tool.error !== undefined) return { mode: "single", ...own };
  return { mode: "range", uids: [...own.uids, uids], gids: [...own.gids, gids] };
}

/** Gives the namespace of `pid` its ids; `pid` waits for that before it does anything. */
export function writeIdMap(pid: number, map: IdMap): void {
  const lines = (extents: readonly IdExtent[]) =>
    extents.map(({ inside, outside, count }) => `${inside} ${outside} ${count}\n`).join("");
  if (map.mode === "range") {
    for (const [tool, extents] of [
      ["newuidmap", map.uids],
      ["newgidmap", map.gids],
    ] as const) {
      const numbers = extents.flatMap(({ inside, outside, count }) => [inside, outside, count].map(String));
      const done = spawnSync(tool, [String(pid), ...numbers], { encoding: "utf8" });
      if (done.status !== 0) throw new Error(`${tool}: ${done.stderr.trim()}`);
    }
    return;
  }
  // The kernel lets an ordinary user map a group only after giving up setgroups.
  if (map.mode === "single") writeFileSync(`/proc/${pid}/setgroups`, "deny");
  writeFileSync(`/proc/${pid}/uid_map`, lines(map.uids));
  writeFileSync(`/proc/${pid}/gid_map`, lines(map.gids));
}

function parseKernelMap(text: string): IdExtent[] {
  return text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([inside = 0, outside = 0, count = 0]) => ({ inside, outside, count }));
}

/** The first range granted to a user by name or number, mapped from id 1 upwards. */
function subordinate(path: string, name: string, uid: number): IdExtent | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  const line = text.split("\n").find((entry) => entry.startsWith(`${name}:`) || entry.startsWith(`${uid}:`));
  const [, start, count] = (line ?? "").split(":");
  if (start === undefined || count === undefined) return undefined;
  return { inside: 1, outside: Number(start), count: Number(count) };
}
