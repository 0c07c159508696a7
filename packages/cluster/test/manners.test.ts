/** What a cluster in the background says when the machine is in its way. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clusterDown, clusterUp, injectFault, readRecord } from "../src/up/index.ts";

const timeout = 60_000;
let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "klman-"));
  vi.stubEnv("KEELSON_STATE", join(home, "state"));
});
afterEach(async () => {
  await clusterDown();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

test("a name that leads elsewhere is refused, and nothing there is removed", async () => {
  mkdirSync(join(home, "precious"));
  for (const act of [clusterDown, readRecord, (name: string) => clusterUp({ name })]) {
    await expect(act("../../precious")).rejects.toThrow('"../../precious" is no name for a cluster');
  }
  await expect(injectFault({ kind: "freezeApi", frozen: true }, "../x")).rejects.toThrow("is no name");
  expect(existsSync(join(home, "precious"))).toBe(true);
});

test(
  "a port that is taken is named, with what to do",
  async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    await expect(clusterUp({ nodes: 0, port })).rejects.toThrow(
      `port ${port} on 127.0.0.1 is taken by another program; choose another with --port`,
    );
    server.close();
  },
  timeout,
);

test(
  "a token is in no process's command line",
  async () => {
    const token = "not-for-everybody";
    const { pid } = await clusterUp({ nodes: 0, token });
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(token);
    const lines = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map((name) => {
        try {
          return readFileSync(`/proc/${name}/cmdline`, "utf8");
        } catch {
          return "";
        }
      });
    expect(lines.filter((line) => line.includes(token))).toEqual([]);
  },
  timeout,
);

test(
  "two that bring up the same name do not get in each other's way",
  async () => {
    const [first, second] = await Promise.allSettled([clusterUp({ nodes: 0 }), clusterUp({ nodes: 0 })]);
    const refused = [first, second].find((each) => each.status === "rejected");
    expect(String(refused?.reason)).toMatch(/another command brings cluster default up/);
    expect((await clusterUp({ nodes: 0 })).existed).toBe(true);
  },
  timeout,
);

test(
  "a home whose path is too long for sockets is no obstacle",
  async () => {
    vi.stubEnv("KEELSON_STATE", join(home, "ä".repeat(100)));
    const { control } = await clusterUp({ nodes: 0 });
    expect(existsSync(control)).toBe(true);
    await expect(injectFault({ kind: "mend" })).rejects.toThrow("this cluster has no nodes of its own");
    await clusterDown();
    expect(existsSync(control)).toBe(false);
  },
  timeout,
);

test(
  "where the machine allows no namespaces pods are simulated, and the cluster says so",
  async () => {
    const programs = join(home, "bin");
    mkdirSync(programs);
    writeFileSync(
      join(programs, "unshare"),
      "#!/bin/sh\necho unshare: Operation not permitted >&2\nexit 1\n",
    );
    chmodSync(join(programs, "unshare"), 0o755);
    vi.stubEnv("PATH", `${programs}:${process.env["PATH"]}`);
    expect((await clusterUp({})).pods).toBe("simulated");
  },
  timeout,
);

test.runIf(process.platform === "linux")(
  "a cluster that is stopped says so instead of letting a fault wait",
  async () => {
    await clusterUp({ nodes: 0 });
    await injectFault({ kind: "freezeApi", frozen: true });
    await expect(injectFault({ kind: "mend" })).rejects.toThrow(/is stopped; .*api-up --name default/);
    await injectFault({ kind: "freezeApi", frozen: false });
    await expect(injectFault({ kind: "mend" })).rejects.toThrow("no nodes of its own");
  },
  timeout,
);
