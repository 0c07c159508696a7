/** Provokes every error of @keelson/images, with an empty cache and an empty PATH. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ImageErrorCode,
  ImageStore,
  loadImages,
  locateProgram,
  parseImageReference,
  pullImage,
} from "@keelson/images";
import { fetchPackages } from "../../../packages/images/src/debian.ts";
import { type Provocations, temporary } from "../provoked.ts";

export const images: Provocations<ImageErrorCode> = {
  InvalidReference: () => parseImageReference("Not An Image"),
  ImageNotFound: () => pull(async () => new Response("", { status: 404 })),
  // The package was fetched before, and the program is not in it.
  ProgramNotFound: async () => {
    const env = await bare();
    await mkdir(join(env["KEELSON_CACHE"] ?? "", "programs/etcd-client"), { recursive: true });
    return await locateProgram("etcdctl", { env });
  },
  // An apt-get that finds nothing.
  PackageUnavailable: async () => {
    const env = await bare();
    const script = "#!/bin/sh\necho 'E: Unable to locate package' >&2\nexit 100\n";
    for (const name of ["apt-get", "dpkg-deb"]) {
      await writeFile(join(env["KEELSON_CACHE"] ?? "", name), script, { mode: 0o755 });
    }
    const path = { ...env, PATH: `${env["KEELSON_CACHE"]}:${process.env["PATH"]}` };
    return await fetchPackages(["etcd-server"], { env: path, installed: "machine" });
  },
  BadArchive: async () => loadImages("/does/not/exist.tar", { env: await bare() }),
  RegistryFailed: () => pull(async () => new Response("", { status: 500 })),
};

async function bare(): Promise<Record<string, string>> {
  return { KEELSON_CACHE: await temporary(), PATH: "/nowhere" };
}

async function pull(fetch: typeof globalThis.fetch): Promise<void> {
  const store = new ImageStore({ env: await bare() });
  await pullImage(parseImageReference("registry.example.com/app:1"), { store, fetch });
}
