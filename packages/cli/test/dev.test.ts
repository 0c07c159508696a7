/** `keelson dev` from its first start to its end, on a project of the scaffold and an embedded control plane. */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@keelson/client";
import { readRecord } from "@keelson/cluster/up";
import { dynamicKind } from "@keelson/core";
import { Deployment } from "@keelson/core/kinds";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startDev } from "../src/dev/dev.ts";
import type { DevEvent } from "../src/dev/events.ts";
import { readProject } from "../src/project.ts";
import { createWebhook } from "../src/scaffold/create-webhook.ts";
import { init } from "../src/scaffold/init.ts";
import { fromRegistry } from "../src/scaffold/packages.ts";

const root = join(import.meta.dirname, "../../..");
const Cache = dynamicKind({
  ...{ group: "cache.example.com", version: "v1alpha1", kind: "Cache" },
  ...{ resource: "caches", scope: "Namespaced" },
});
let work: string;
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), "keelson-dev-"));
  vi.stubEnv("KEELSON_STATE", join(work, "state"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(work, { recursive: true });
});

/** On a machine that is busy with other things, too. */
async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return await vi.waitFor(check, { timeout: 150_000, interval: 20 });
}

/** Everything that was told, and a way to wait for what comes after a moment. */
class Told {
  readonly events: DevEvent[] = [];
  readonly tell = (event: DevEvent) => void this.events.push(event);

  async next<T extends DevEvent["type"]>(
    type: T,
    from: number,
    fits: (event: Extract<DevEvent, { type: T }>) => boolean = () => true,
  ): Promise<Extract<DevEvent, { type: T }>> {
    return await eventually(() => {
      const found = this.events.slice(from).find((event) => event.type === type && fits(event as never));
      if (!found) throw new Error(`no ${type} in ${JSON.stringify(this.events.slice(from), undefined, 1)}`);
      return found as Extract<DevEvent, { type: T }>;
    });
  }
}

test("a save reaches the cluster, which stays; broken code is told of and changes nothing", {
  timeout: 600_000,
}, async () => {
  const directory = join(work, "cache-operator");
  const api = { group: Cache.group, version: Cache.version, kind: Cache.kind, template: "compose" } as const;
  init({ directory, packages: fromRegistry("0.1.0"), ...api });
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  const project = readProject(directory);
  const told = new Told();
  const edit = (path: string, change: (text: string) => string): number => {
    const at = told.events.length;
    const full = join(directory, path);
    writeFileSync(full, change(readFileSync(full, "utf8")));
    return at;
  };
  const example = (name: string) => ({
    ...{ apiVersion: "cache.example.com/v1alpha1", kind: "Cache" },
    ...{ metadata: { namespace: "default", name }, spec: {} },
  });
  let kubeconfig: string;
  {
    await using dev = await startDev({
      ...{ project, name: "dev-test", nodes: 0, simulate: false, keep: false },
      tell: told.tell,
    });
    ({ kubeconfig } = await told.next("cluster", 0));
    await told.next("working", 0);
    expect(await told.next("installed", 0)).toMatchObject({ kinds: ["Cache"] });
    await using client = closing(await connect({ kubeconfig }));
    const deployment = async (name: string) =>
      await client.kind(Deployment).get({ namespace: "default", name });

    const twice = startDev({
      ...{ project, name: "dev-test", simulate: false, keep: false },
      tell: told.tell,
    });
    await expect(twice).rejects.toThrow(
      `keelson dev works on the cluster dev-test already (process ${process.pid}); end it there, or take another cluster: --name NAME`,
    );

    writeFileSync(
      join(work, "unknown.yaml"),
      "apiVersion: a.example.com/v1\nkind: None\nmetadata: { name: a }\n",
    );
    await dev.apply(join(work, "unknown.yaml"));
    const unknown = await told.next("applied", 0);
    expect(unknown.refused?.match(/cannot apply None a/g)).toHaveLength(1);

    await dev.apply(join(directory, "examples"));
    expect(told.events.at(-1)?.type === "applied" || (await told.next("applied", 0))).toBeTruthy();
    const { report } = await told.next("reconciled", 0, ({ kind }) => kind === "Cache");
    expect(report).toMatchObject({
      key: "default/example",
      outcome: "waiting",
      causes: [{ type: "created" }],
    });
    await told.next("resource", 0, ({ row }) => row.reason === "ChildrenNotReady");
    await eventually(async () => expect((await deployment("example")).spec?.replicas).toBe(2));

    // Another behaviour of the controller, and nothing else.
    const saved = edit("src/cache/controller.ts", (text) => text.replace('name: "main"', 'name: "renamed"'));
    const again = await told.next("working", saved);
    expect(again.files).toEqual(["src/cache/controller.ts"]);
    await eventually(async () => {
      const { template } = (await deployment("example")).spec ?? {};
      expect(template?.spec?.containers[0]?.name).toBe("renamed");
    });
    expect(told.events.slice(saved).some(({ type }) => type === "installed")).toBe(false);

    // Code that cannot be loaded: the version before goes on.
    const broke = edit("src/cache/controller.ts", (text) => `${text}\nthrow new Error("half written");\n`);
    const { goesOn, text } = await told.next("broken", broke);
    expect(goesOn).toBe(true);
    expect(text).toMatch(
      /src\/index\.ts cannot be imported:\nError: half written\n.*src\/cache\/controller\.ts:\d+/,
    );
    await client.kind(Cache).create(example("meanwhile") as never);
    await eventually(async () => expect((await deployment("meanwhile")).spec?.replicas).toBe(1));

    // A type error is shown where it is, and does not stop anything.
    const typed = edit("src/cache/controller.ts", (before) =>
      before.replace('throw new Error("half written");', 'export const wrong: number = "3";'),
    );
    await told.next("working", typed);
    const { found } = await told.next("types", typed, (event) =>
      event.found.some(({ code }) => code === "TS2322"),
    );
    const place = found.find(({ code }) => code === "TS2322");
    expect(place?.file).toBe("src/cache/controller.ts");
    expect(place?.frame.find((line) => line.startsWith(">"))).toMatch(/export const wrong: number = "3";/);

    // A new field of the schema reaches the CRD.
    const field = edit("src/cache/api.ts", (before) =>
      before.replace("  spec: z.object({", "  spec: z.object({\n    zone: z.string().max(9).optional(),"),
    );
    await told.next("installed", field);
    await told.next("working", field);

    // CRDs that the server refuses leave the version before at work.
    const dropped = edit("src/cache/api.ts", (before) =>
      before.replace('version: "v1alpha1"', 'version: "v2"'),
    );
    expect(await told.next("broken", dropped)).toMatchObject({
      goesOn: true,
      text: expect.stringMatching(
        /^cannot install caches\.cache\.example\.com: the server refuses status\.storedVersions/,
      ),
    });
    const restored = edit("src/cache/api.ts", (before) =>
      before.replace('version: "v2"', 'version: "v1alpha1"'),
    );
    await told.next("working", restored);

    // A webhook works without anything but its registration in the entry.
    const hooked = told.events.length;
    createWebhook(project, "Cache");
    expect(await told.next("loaded", hooked, ({ webhooks }) => webhooks === 1)).toBeDefined();
    await told.next("working", hooked, ({ files }) => files.length > 0);
    await eventually(async () => {
      await expect(
        client.kind(Cache).create(example("x".repeat(51)) as never, { dryRun: true }),
      ).rejects.toThrow(/a name has at most 50 characters/);
    });

    // An operator that ends by itself is told of, and comes back with the next save.
    const ends = edit("src/main.ts", () => "process.exit(7);\n");
    expect(await told.next("ended", ends)).toMatchObject({ how: "with exit code 7" });
    const back = edit("src/main.ts", () => 'import { app } from "./index.ts";\n\nawait app.run();\n');
    await told.next("working", back);
    expect((await readRecord("dev-test"))?.kubeconfig).toBe(kubeconfig);
  }
  expect(await readRecord("dev-test")).toBeUndefined();
  expect(existsSync(kubeconfig)).toBe(false);
});

function closing<T extends { close(): Promise<void> }>(client: T): T & AsyncDisposable {
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
