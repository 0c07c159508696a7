/** Provokes every error of @keelson/cli. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { apiServer } from "@keelson/apiserver";
import { type CliErrorCode, loadOperator, readProject } from "@keelson/cli";
import { type Client, connect, createClient } from "@keelson/client";
import { ImageStore } from "@keelson/images";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { z } from "zod";
import { appFiles } from "../../../packages/cli/src/build/app-files.ts";
import { storedDigest } from "../../../packages/cli/src/build/tag-image.ts";
import { lastRelease } from "../../../packages/cli/src/check/release.ts";
import { applyManifests, until } from "../../../packages/cli/src/deploy/apply.ts";
import { checkRegistry } from "../../../packages/cli/src/deploy/deliver-image.ts";
import { checkManifests } from "../../../packages/cli/src/dev/apply.ts";
import { compositeFiles } from "../../../packages/cli/src/eject/composite-files.ts";
import { capabilityOf } from "../../../packages/cli/src/generate/bundle.ts";
import { refuseStale } from "../../../packages/cli/src/generate/generated-files.ts";
import { valuesOver } from "../../../packages/cli/src/generate/values.ts";
import { checkKubeconfig } from "../../../packages/cli/src/kubeconfig/file.ts";
import { chooseTarget } from "../../../packages/cli/src/kubeconfig/target.ts";
import { runToItsEnd } from "../../../packages/cli/src/run/operator-process.ts";
import {
  checkAlone,
  checkAnswers,
  checkKinds,
  checkPermissions,
  checkStored,
} from "../../../packages/cli/src/run/preflight.ts";
import { createVersion } from "../../../packages/cli/src/scaffold/create-version.ts";
import { existingApi } from "../../../packages/cli/src/scaffold/existing-api.ts";
import { type InitOptions, init } from "../../../packages/cli/src/scaffold/init.ts";
import { installPackages } from "../../../packages/cli/src/scaffold/install.ts";
import { kindName } from "../../../packages/cli/src/scaffold/names.ts";
import { fromFolder, fromRegistry } from "../../../packages/cli/src/scaffold/packages.ts";
import type { ScaffoldRecord } from "../../../packages/cli/src/scaffold/record.ts";
import { writeFiles } from "../../../packages/cli/src/scaffold/write-files.ts";
import { upgrade } from "../../../packages/cli/src/upgrade/upgrade.ts";
import { root } from "../../run.ts";
import { type Provocations, temporary } from "../provoked.ts";

export const cli: Provocations<CliErrorCode> = {
  NoPackage: async () => readProject(await folder({})),
  NoOperator: async () => loadOperator(readProject(await folder({ "package.json": manifest({}) }))),
  BadEntry: async () => {
    const broken = await folder({
      "package.json": manifest({}),
      "src/index.ts": 'throw new Error("broken");',
    });
    return await loadOperator(readProject(broken));
  },
  NotBuilt: async () => {
    const library = { name: "lib", exports: { ".": { default: "./dist/index.js" } } };
    const files = {
      "package.json": manifest({ lib: "1" }),
      "node_modules/lib/package.json": JSON.stringify(library),
    };
    return appFiles(readProject(await folder(files)));
  },
  NotInstalled: async () => appFiles(readProject(await folder({ "package.json": manifest({ lib: "1" }) }))),
  InvalidName: () => kindName("bucket"),
  FolderInUse: async () => init(projectIn(await folder({ "op/main.go": "" }))),
  NoPackages: async () => fromFolder(await folder({})),
  CannotWrite: async () => writeFiles(await folder({ src: "" }), [{ path: "src/index.ts", content: "" }]),
  InstallFailed: async () => await installPackages(await folder({ "package.json": "{ oh" })),
  NoContext: async () => chooseTarget({ kubeconfig: await kubeconfig("https://203.0.113.7:6443") }),
  NoCluster: async () => await checkAnswers(await nowhere(), target),
  CrdMissing: async () => {
    const { resources } = await loadOperator(readProject(memcached));
    await using c = await cluster({});
    return await checkKinds(c.client, { ...noParts, resources }, target);
  },
  IncompatibleCrd: async () => {
    const before = resource({ ...note, spec: z.object({}) });
    const after = resource({ ...note, spec: z.object({ text: z.string() }) });
    await using c = await cluster({ resources: [before] });
    await c.client.kind(before).create({ metadata: { namespace: "default", name: "a" }, spec: {} });
    return await checkStored(c.client, { ...noParts, resources: [after] });
  },
  CannotEject: async () =>
    await compositeFiles(
      { apiVersion: "metacontroller.k8s.io/v1alpha1", kind: "DecoratorController", metadata: { name: "a" } },
      async () => Promise.reject(new Error("no kind is asked for")),
    ),
  NotPermitted: async () => {
    const { controllers } = await loadOperator(readProject(memcached));
    const refusing = { kind: () => ({ create: async () => ({ status: { allowed: false } }) }) };
    return await checkPermissions(refusing as never, { ...noParts, controllers }, target);
  },
  AlreadyRuns: async () => {
    const running = { metadata: { namespace: "op", name: "op" }, spec: { replicas: 2 } };
    const deployed = { kind: () => ({ list: async () => ({ items: [running] }) }) };
    return await checkAlone(deployed as never, noParts, target);
  },
  OperatorEnded: async () => {
    const ends = { "package.json": manifest({}), "src/main.ts": "process.exitCode = 3;" };
    return await runToItsEnd(readProject(await folder(ends)), "op", {});
  },
  NoManifests: () => checkManifests("/nowhere"),
  UnknownKind: async () => existingApi(readProject(await scaffolded()), "Bucket"),
  CannotEdit: async () => {
    const project = await scaffolded();
    await writeFile(join(project, "src/cache/api.ts"), "export const Cache = resource(mine);");
    return createVersion(readProject(project), { kind: "Cache", version: "v2" });
  },
  NoScaffold: async () => upgrade(readProject(await folder({ "package.json": manifest({}) })), upgrading),
  UpgradeConflict: async () => {
    const project = await scaffolded();
    const path = join(project, ".keelson/scaffold.json");
    const record = JSON.parse(await readFile(path, "utf8")) as ScaffoldRecord;
    const files = { ...record.files, "src/main.ts": "// older" };
    await writeFile(path, JSON.stringify({ ...record, files }));
    await writeFile(join(project, "src/main.ts"), "// mine");
    return upgrade(readProject(project), upgrading);
  },
  BadKubeconfig: async () => checkKubeconfig(join(await folder({ config: "- a" }), "config")),
  BadValues: () => valuesOver({ replicas: "many" }),
  BadBundle: async () => {
    const bundle = { capabilities: "Perfect" };
    return capabilityOf({
      ...readProject(await folder({ "package.json": manifest({}) })),
      about: { bundle },
    });
  },
  Stale: async () => refuseStale("deploy", ["stale  deploy/install.yaml"]),
  NoRelease: async () => lastRelease(await folder({}), "v9.9.9"),
  CannotApply: async () => await withServer((client) => applyManifests(client, [unknownKind])),
  NotReady: async () => await withServer((client) => until(client, 0, "the operator is not ready", never)),
  NoRegistry: () => checkRegistry("op:1"),
  NoImage: async () =>
    await storedDigest(new ImageStore({ env: { KEELSON_CACHE: await folder({}) } }), "op:1"),
};

const memcached = join(root, "operators/memcached");
const noParts = { name: "op", resources: [], controllers: [], webhooks: [], policies: [] };
const target = { context: "keelson", server: "https://127.0.0.1:1", env: {} };

/** Nothing listens on the first port. */
async function nowhere() {
  return await connect({ kubeconfig: await kubeconfig(target.server) });
}

async function kubeconfig(server: string): Promise<string> {
  const entry = { clusters: [{ name: "c", cluster: { server } }], users: [] };
  const config = { ...entry, contexts: [{ name: "c", context: { cluster: "c" } }], "current-context": "c" };
  return join(await folder({ config: JSON.stringify(config) }), "config");
}

const note = { group: "example.com", kind: "Note", version: "v1" };
const unknownKind = { apiVersion: "nowhere.example.com/v1", kind: "Unknown", metadata: { name: "x" } };
const never = async () => false;

async function withServer<T>(ask: (client: Client) => Promise<T>): Promise<T> {
  await using server = await apiServer();
  return await ask(createClient({ http: server.http }));
}

const upgrading = { packages: fromRegistry("0.1.0"), version: "0.1.0", mark: false, dryRun: false };

async function scaffolded(): Promise<string> {
  const options = projectIn(await folder({}));
  init(options);
  return options.directory;
}

function projectIn(directory: string): InitOptions {
  const packages = fromRegistry("0.1.0");
  const api = { group: "cache.example.com", version: "v1", kind: "Cache", template: "compose" } as const;
  return { directory: join(directory, "op"), packages, ...api };
}

const manifest = (dependencies: object) => JSON.stringify({ name: "op", type: "module", dependencies });

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await temporary();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(directory, path, ".."), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  return directory;
}
