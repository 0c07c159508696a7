/** An S3 that checks signatures, in a pod: a store for backups that is no volume. */
import { readFile } from "node:fs/promises";
import type { Client } from "@keelson/client";
import { ConfigMap, Pod, Secret, Service } from "keelson/kinds";

const name = "s3";

/** What a Database's `spec.backup.store` says of it. */
export const bucketStore = {
  s3: { endpoint: `http://${name}.default.svc:9000`, bucket: "backups", credentialsSecret: name },
};

const source = async (path: string) =>
  await readFile(new URL(`../../packages/kit/src/${path}`, import.meta.url), "utf8");

export async function startBucket(client: Client, namespace: string, image: string): Promise<void> {
  const metadata = { namespace, name };
  if (await client.kind(Pod).find(metadata)) return;
  const server = await source("testing/s3-server.ts");
  await client.kind(ConfigMap).create({
    metadata,
    data: {
      "signature.ts": await source("backup/store/signature.ts"),
      "s3-server.ts": server.replace("../backup/store/signature.ts", "./signature.ts"),
      "main.ts": `import { s3Server } from "./s3-server.ts"; await s3Server({ host: "0.0.0.0", port: 9000, pageSize: 1000 });`,
      "package.json": '{ "type": "module" }',
    },
  });
  await client.kind(Secret).create({
    metadata,
    data: {
      accessKeyId: Buffer.from("test-key").toString("base64"),
      secretAccessKey: Buffer.from("test-secret").toString("base64"),
    },
  });
  await client.kind(Service).create({
    metadata,
    spec: { selector: { app: name }, ports: [{ port: 9000, targetPort: 9000 }] },
  });
  const container = {
    name,
    image,
    command: ["node", "/s3/main.ts"],
    volumeMounts: [{ name: "code", mountPath: "/s3" }],
  };
  await client.kind(Pod).create({
    metadata: { ...metadata, labels: { app: name } },
    spec: { containers: [container], volumes: [{ name: "code", configMap: { name } }] },
  });
}
