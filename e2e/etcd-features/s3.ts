/** On real processes: 100 MB to an S3 that checks signatures, on schedule, proven, pruned; then everything is lost. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { EtcdBackup, EtcdBackupSchedule, EtcdGateway } from "@keelson/etcd-operator";
import { forwardConnector } from "keelson";
import { ConfigMap, Pod, Secret, Service } from "keelson/kinds";
import { commandLine } from "../../scripts/command-line.ts";
import { eventually } from "../operator/eventually.ts";
import { installImage, operatorImage, say } from "./setting.ts";
import { namespace, Stage } from "./stage.ts";

const [version = "3.6.16", megabytes = "100"] = commandLine({
  command: "node --conditions=keelson-source e2e/etcd-features/s3.ts",
  does: "Backups of real etcd to an S3 that checks signatures, and a restore from the store alone.",
  words: "[VERSION [MEGABYTES]]",
}).words;
const source = async (path: string) =>
  await readFile(new URL(`../../packages/kit/src/${path}`, import.meta.url), "utf8");

await installImage();
await using world = await Stage.start(say);

await world.client.kind(ConfigMap).create({
  metadata: { namespace, name: "s3" },
  data: {
    "signature.ts": await source("backup/store/signature.ts"),
    "s3-server.ts": (await source("testing/s3-server.ts")).replace(
      "../backup/store/signature.ts",
      "./signature.ts",
    ),
    "main.ts": `
      import { createServer } from "node:http";
      import { s3Server } from "./s3-server.ts";
      const { objects } = await s3Server({ host: "0.0.0.0", port: 9000 });
      createServer((_, response) => response.end(JSON.stringify([...objects].map(([key, body]) => [key, body.length]))))
        .listen(9001, "0.0.0.0");
    `,
    "package.json": '{ "type": "module" }',
  },
});
await world.client.kind(Pod).create({
  metadata: { namespace, name: "s3", labels: { app: "s3" } },
  spec: {
    containers: [
      {
        name: "s3",
        image: operatorImage,
        command: ["node", "/s3/main.ts"],
        volumeMounts: [{ name: "code", mountPath: "/s3" }],
      },
    ],
    volumes: [{ name: "code", configMap: { name: "s3" } }],
  },
});
await world.client.kind(Service).create({
  metadata: { namespace, name: "s3" },
  spec: { selector: { app: "s3" }, ports: [{ port: 9000, targetPort: 9000 }] },
});
await world.client.kind(Secret).create({
  metadata: { namespace, name: "s3" },
  data: {
    accessKeyId: Buffer.from("test-key").toString("base64"),
    secretAccessKey: Buffer.from("test-secret").toString("base64"),
  },
});
const store = {
  s3: {
    endpoint: `http://s3.${namespace}.svc:9000`,
    bucket: "backups",
    prefix: "etcd",
    credentialsSecret: "s3",
  },
};

await world.create("old", { size: 1, version });
await world.whenReady("old", 1, 120_000);
const on = async <T>(pod: string, port: number, work: (at: { host: string; port: number }) => Promise<T>) => {
  await using link = await forwardConnector(world.client)({ pod: { namespace, name: pod } }, port, {
    namespace,
    signal: AbortSignal.timeout(300_000),
  });
  return await work(link);
};
const stored = async () =>
  await on(
    "s3",
    9001,
    async (at) =>
      await new Promise<[string, number][]>((resolve, reject) => {
        request({ ...at, path: "/" }, (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          response.on("end", () => resolve(JSON.parse(text) as [string, number][]));
        })
          .on("error", reject)
          .end();
      }),
  );
const keys = Number(megabytes);
await on("old-0", 2379, async (at) => {
  const etcd = new EtcdGateway(at);
  for (let i = 0; i < keys; i++) await etcd.put(`key-${i}`, "x".repeat(1_000_000));
});
say(`${keys} MB are written`);

await world.client.kind(EtcdBackupSchedule).create({
  metadata: { namespace, name: "often" },
  spec: { cluster: "old", schedule: "* * * * *", store, keep: { count: 1 } },
} as never);
const backups = async () => (await world.client.kind(EtcdBackup).list({ namespace })).items;
const told = async () =>
  JSON.stringify((await backups()).map(({ metadata, status }) => [metadata.name, status]));
await eventually(
  "the first backup is proven",
  240_000,
  async () => (await backups()).some(({ status }) => status?.phase === "Done"),
  told,
);
const [first] = (await backups()).filter(({ status }) => status?.phase === "Done");
const took = Date.parse(first?.status?.verifiedAt ?? "") - Date.parse(first?.status?.takenAt ?? "");
say(`${first?.metadata.name}: ${first?.status?.sizeBytes} bytes proven ${took} ms after it began`);
await eventually(
  "the next one takes its place, and the first is gone from the store",
  300_000,
  async () => {
    const objects = (await stored()).map(([key]) => key);
    return objects.length >= 2 && !objects.some((key) => key.includes(first?.status?.name ?? "?"));
  },
  async () => `${JSON.stringify(await stored())} ${await told()}`,
);
const health = (await world.get("old")).status?.conditions?.find(({ type }) => type === "BackupHealthy");
assert.equal(health?.status, "True", JSON.stringify(health));
say("old backups leave the store when newer ones are proven");

await world.client
  .kind(EtcdBackupSchedule)
  .patch({ namespace, name: "often" }, { type: "merge", body: { spec: { suspend: true } } });
await eventually(
  "no backup is under way",
  240_000,
  async () => (await backups()).every(({ status }) => status?.phase === "Done"),
  told,
);
const [newest] = (await backups()).toSorted((a, b) =>
  (b.status?.takenAt ?? "") < (a.status?.takenAt ?? "") ? -1 : 1,
);
await world.remove("old");
for (const { metadata } of await backups())
  await world.client.kind(EtcdBackup).delete({ namespace, name: metadata.name });

const startMs = performance.now();
await world.create("new", { size: 1, version, restoreFrom: { store, name: newest?.status?.name } });
await world.whenReady("new", 1, 240_000);
say(`restored from the store alone in ${Math.round(performance.now() - startMs)} ms`);
const count = await on("new-0", 2379, async (at) => await new EtcdGateway(at).count());
assert.equal(count, keys);
