/** Makes image archives with the machine's own tar: what we read was not written by us. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Packs files into a layer; a value of `null` is a directory, `{ link }` a link, `{ hard }` a hard link. */
export type LayerFiles = Readonly<Record<string, string | null | { link: string } | { hard: string }>>;

export function makeLayer(
  home: string,
  name: string,
  files: LayerFiles,
  flags: readonly string[] = [],
): string {
  const root = join(home, `${name}.d`);
  mkdirSync(root, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    const target = join(root, path);
    mkdirSync(dirname(target), { recursive: true });
    if (content === null) mkdirSync(target, { recursive: true });
    else if (typeof content === "string") writeFileSync(target, content);
    else if ("link" in content) execFileSync("ln", ["-s", content.link, target]);
    else execFileSync("ln", [join(root, content.hard), target]);
  }
  const archive = join(home, name);
  execFileSync("tar", ["-C", root, ...flags, "-cf", archive, "."]);
  return archive;
}

const config = { Entrypoint: ["/bin/app"], Cmd: ["--help"], Env: ["A=1"], WorkingDir: "/srv", User: "5:6" };

const digestOf = (content: Buffer | string) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
const rootfsOf = (layers: readonly string[]) => ({
  type: "layers",
  diff_ids: layers.map((layer) => digestOf(readFileSync(layer))),
});

/** What `docker save` writes. */
export function dockerArchive(home: string, tag: string, layers: readonly string[]): string {
  const root = join(home, "docker");
  mkdirSync(root, { recursive: true });
  const names = layers.map((layer, index) => {
    copyFileSync(layer, join(root, `layer${index}.tar`));
    return `layer${index}.tar`;
  });
  writeFileSync(
    join(root, "config.json"),
    JSON.stringify({ architecture: "amd64", os: "linux", config, rootfs: rootfsOf(layers) }),
  );
  writeFileSync(
    join(root, "manifest.json"),
    JSON.stringify([{ Config: "config.json", RepoTags: [tag], Layers: names }]),
  );
  const archive = join(home, "docker.tar");
  execFileSync("tar", ["-C", root, "-cf", archive, "."]);
  return archive;
}

/** An OCI layout whose index leads through an index per platform. */
export function ociLayout(home: string, name: string | undefined, layers: readonly string[]): string {
  const root = join(home, "oci");
  mkdirSync(join(root, "blobs/sha256"), { recursive: true });
  const put = (content: Buffer | string) => {
    const digest = digestOf(content);
    writeFileSync(join(root, "blobs", ...digest.split(":")), content);
    return { digest, size: Buffer.byteLength(content) };
  };
  const manifest = put(
    JSON.stringify({
      schemaVersion: 2,
      config: put(JSON.stringify({ config, rootfs: rootfsOf(layers) })),
      layers: layers.map((layer) => put(readFileSync(layer))),
    }),
  );
  const names: Record<string, string> = { x64: "amd64" };
  const architecture = names[process.arch] ?? process.arch;
  const index = put(
    JSON.stringify({
      schemaVersion: 2,
      manifests: [
        { ...manifest, digest: `sha256:${"0".repeat(64)}`, platform: { os: "linux", architecture: "s390x" } },
        { ...manifest, platform: { os: "linux", architecture } },
        { ...manifest, platform: { os: "unknown", architecture: "unknown" } },
      ],
    }),
  );
  const annotations =
    name === undefined ? {} : { annotations: { "org.opencontainers.image.ref.name": name } };
  writeFileSync(
    join(root, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...index, ...annotations }] }),
  );
  writeFileSync(join(root, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return root;
}
