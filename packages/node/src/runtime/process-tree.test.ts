/** Namespaces are made by `unshare`, as the user who runs the tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "../../test/node-machine.ts";
import { ContainerProcesses } from "./process-tree.ts";

const reason = await whyNoSandbox();

interface Mounts extends AsyncDisposable {
  readonly pid: number;
  readonly namespace: string;
}

/** A process with mounts of its own. */
async function mounts(): Promise<Mounts> {
  const child = spawn("unshare", ["-Urm", "sh", "-c", "echo; exec cat"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const { pid = 0 } = child;
  return {
    pid,
    namespace: readlinkSync(`/proc/${pid}/ns/mnt`),
    [Symbol.asyncDispose]: () => ended(child),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** Those of twenty processes, made one after the other, that are found. */
async function strangersIn(processes: ContainerProcesses): Promise<number> {
  let found = 0;
  for (let n = 0; n < 20; n++) {
    await using other = await mounts();
    found += await processes.look((pids) => pids.filter((pid) => pid === other.pid).length);
  }
  return found;
}

describe.skipIf(reason !== undefined)(titled("the processes of a container", reason), () => {
  test("are its own, and none that came after it", async () => {
    let processes: ContainerProcesses;
    {
      await using first = await mounts();
      processes = new ContainerProcesses(first.pid, "mnt");
      expect(await processes.look((pids) => pids)).toEqual([first.pid]);
    }
    expect(await strangersIn(processes)).toBe(0);
    await processes.close();
    expect(await strangersIn(processes)).toBe(0);
  });

  test("are none where the first has ended before anybody looked", async () => {
    const first = await mounts();
    await first[Symbol.asyncDispose]();
    const processes = new ContainerProcesses(first.pid, "mnt");
    expect(await processes.look((pids) => pids)).toEqual([]);
    await processes.close();
  });

  test("are held until what was begun with them has ended", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = await mounts();
    const processes = new ContainerProcesses(first.pid, "mnt");
    const look = processes.look(async () => {
      await first[Symbol.asyncDispose]();
      await released;
    });
    let isClosed = false;
    const closed = processes.close().then(() => {
      isClosed = true;
    });
    for (let n = 0; n < 20; n++) {
      await using other = await mounts();
      expect(other.namespace).not.toBe(first.namespace);
    }
    expect(isClosed).toBe(false);
    release();
    await Promise.all([look, closed]);
  });
});
