/** Images that the scenarios need: the operator's own, under two tags, and etcd's under a name of our own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { readProject } from "@keelson/cli";
import { Images, parseImageReference } from "@keelson/images";

export const project = readProject(join(import.meta.dirname, "../../operators/etcd"));

/** The operator as installed, and as upgraded to: the same program under a newer tag. */
export const operatorImages = [
  "keelson-e2e/fault-table-operator:1",
  "keelson-e2e/fault-table-operator:2",
] as const;

/** A repository whose v3.7.3 holds another etcd than its tag says: it answers `--version`, and cannot run so. */
export const brokenRepository = "keelson-e2e/etcd";

export async function makeBrokenRepository(): Promise<void> {
  const contents = { "v3.5.35": "v3.5.35", "v3.6.16": "v3.6.16", "v3.7.3": "v3.4.23" };
  for (const [tag, is] of Object.entries(contents)) {
    await copyImage(`gcr.io/etcd-development/etcd:${is}`, `${brokenRepository}:${tag}`);
  }
}

async function copyImage(from: string, to: string): Promise<void> {
  const images = new Images();
  const reference = parseImageReference(to);
  if (await images.store.find(reference)) return;
  const { rootfs } = (await images.find(from)) ?? (await images.pull(from));
  const tar = spawn("tar", ["-C", rootfs, "-cf", "-", "."], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(tar, "exit");
  const layer = await images.store.putBlob(tar.stdout);
  const [code] = await ended;
  if (code !== 0) throw new Error(`tar ended with ${code}`);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const config = await images.store.putDocument({
    architecture,
    os: "linux",
    config: {},
    rootfs: { type: "layers", diff_ids: [layer.digest] },
  });
  const manifest = await images.store.putDocument({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...config },
    layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", ...layer }],
  });
  await images.store.name(reference, manifest, "store");
}
