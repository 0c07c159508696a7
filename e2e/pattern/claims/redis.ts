/** What the tests of SampleDB share: databases and how a person looks into them. */
import { expect, type Shell } from "../shell.ts";

export const sampledb = (name: string, spec: object, metadata: object = {}) => ({
  apiVersion: "sampledb.keelson.dev/v1",
  kind: "SampleDB",
  metadata: { name, ...metadata },
  spec: { version: "7.0", replicas: 1, storage: { size: "1Gi" }, ...spec },
});

export const exampleName = "example-database";
export const exampleTarget = `sampledb/${exampleName}`;

/** The database of the Kubernetes documentation, ready. One that is there stays as it is. */
export async function example(shell: Shell): Promise<void> {
  await ready(shell, exampleName, {
    settings: { "maxmemory-policy": "noeviction" },
    initialize: { commands: [["SET", "greeting", "hello"]] },
  });
}

/** Made if it is not there. */
export async function ready(shell: Shell, name: string, spec: object): Promise<void> {
  await shell.deployed("sampledb");
  const there = await shell.names("sampledb", "--field-selector", `metadata.name=${name}`);
  if (there.length === 0) await shell.apply(sampledb(name, spec));
  await shell.wait(`sampledb/${name}`, "condition=Ready");
}

/** A command of Redis through the Service of the database, with the password of its binding. */
export async function redis(shell: Shell, name: string, ...command: string[]): Promise<string> {
  const pod = await shell.value(`sampledb/${name}`, ".status.primary");
  const password = await shell.secret(`${name}-binding`, "password");
  return await shell.exec(pod, "redis-cli", "-h", name, "-a", password, "--no-auth-warning", ...command);
}

/** Throws unless the key has the value. */
export async function holds(shell: Shell, name: string, key: string, value: string): Promise<void> {
  const found = await redis(shell, name, "GET", key);
  expect(`${name} has ${key}=${value}`, found === value, found);
}

/** Takes a backup by hand; it is done when it was proven by restoring it. */
export async function backup(shell: Shell, name: string, database: string): Promise<void> {
  await shell.apply({
    apiVersion: "sampledb.keelson.dev/v1",
    kind: "SampleDBBackup",
    metadata: { name },
    spec: { database },
  });
  await shell.wait(`sampledbbackup/${name}`, "jsonpath={.status.phase}=Done");
}
