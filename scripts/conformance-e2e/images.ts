/** The images that the suite's pods use: its own programs on Debian packages, under the names it asks for. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { ImageStore, loadImages, parseImageReference } from "@keelson/images";
import {
  fetchPackages,
  linkApplets,
  makeDebianBase,
  makeSkeleton,
  RootDirectory,
  scriptDependencies,
  unpackPackages,
} from "@keelson/images/internal";
import { createAuthority } from "@keelson/pki";
import { etcdRelease, programPath } from "../../reference/releases.ts";
import { output, type SuitePrograms } from "./programs.ts";

interface Making {
  readonly root: RootDirectory;
  readonly programs: SuitePrograms;
  /** A busybox to use instead of Debian's. */
  readonly busybox?: string;
}

interface SuiteImage {
  readonly names: readonly string[];
  readonly packages: readonly string[];
  readonly base: "debian" | "none";
  readonly config: { readonly Entrypoint?: string[]; readonly Cmd?: string[]; readonly User?: string };
  fill?(making: Making): Promise<void> | void;
}

const suite = (name: string, ...tags: string[]) =>
  tags.map((tag) => `registry.k8s.io/e2e-test-images/${name}:${tag}`);

function add({ root }: Making, from: string, to: string): void {
  copyFileSync(from, join(root.path, to));
}

/** Debian's alternatives are links that a package's own scripts make. */
const linkNetcat = ({ root }: Making) => root.link("bin/nc", "nc.openbsd");

const nginx = (tag: string): SuiteImage => ({
  names: suite("nginx", tag),
  packages: ["nginx"],
  base: "debian",
  config: { Cmd: ["nginx", "-g", "daemon off;"] },
  async fill({ root }) {
    await root.directory("var/log/nginx", 0o777);
    await root.directory("usr/share/nginx/html");
    await root.write("usr/share/nginx/html/index.html", "<h1>Welcome to nginx!</h1>\n");
    await root.write(
      "etc/nginx/nginx.conf",
      "user root;\nevents {}\nhttp { server { listen 80; root /usr/share/nginx/html; } }\n",
    );
  },
});

const page = (name: string): SuiteImage => ({
  names: suite(name, "1.8"),
  packages: [],
  base: "none",
  config: { Entrypoint: ["/agnhost", "test-webserver"] },
  async fill(making) {
    add(making, making.programs.path("agnhost"), "agnhost");
    await making.root.write("data.json", `{\n  "image": "${name}.jpg"\n}\n`);
    // A test reads it from the image as a volume, to see that all of it is there.
    await making.root.write("etc/os-release", 'PRETTY_NAME="in the place of Alpine Linux"\n');
  },
});

interface Tags {
  readonly agnhost: readonly string[];
  readonly busybox: string;
  readonly etcd: string;
  readonly glibcDnsTesting: string;
  readonly nginx: readonly string[];
}

/** What differs between the lines of Kubernetes, by the minor version. */
const tagsByLine: Readonly<Record<string, Tags>> = {
  "1.36": {
    agnhost: ["2.63.0", "2.55"],
    busybox: "1.37.0-1",
    etcd: "3.6.8-0",
    glibcDnsTesting: "2.0.0",
    nginx: ["1.15-4", "1.27-0"],
  },
  "1.37": {
    agnhost: ["2.66.1", "2.55"],
    busybox: "1.37.0-2",
    etcd: "3.7.0-0",
    glibcDnsTesting: "2.1.1",
    nginx: ["1.27.0-2", "1.28.0-2"],
  },
};

function imagesOf(version: string): readonly SuiteImage[] {
  const line = version.split(".", 2).join(".");
  const tags = tagsByLine[line];
  if (tags === undefined) {
    const known = Object.keys(tagsByLine).join(" and ");
    throw new Error(`the images of Kubernetes ${line} are not known, only those of ${known}`);
  }
  return imagesWith(tags);
}

const imagesWith = (tags: Tags): readonly SuiteImage[] => [
  {
    names: suite("agnhost", ...tags.agnhost),
    packages: ["curl", "netcat-openbsd", "bind9-dnsutils", "iproute2", "ca-certificates"],
    base: "debian",
    config: { Entrypoint: ["/agnhost"], Cmd: ["pause"] },
    async fill(making) {
      add(making, making.programs.path("agnhost"), "agnhost");
      symlinkSync("agnhost", join(making.root.path, "agnhost-2"));
      await linkNetcat(making);
      await making.root.directory("uploads");
      const year = 365 * 24 * 3_600_000;
      const { certificate, key } = createAuthority("localhost", Date.now() - year, Date.now() + 10 * year);
      await making.root.write("localhost.crt", certificate);
      await making.root.write("localhost.key", key);
      await making.root.accounts([{ name: "user-defined-in-image", uid: 1000, gid: 1000 }]);
      await output(
        "sh",
        ["-c", "echo group-defined-in-image:x:50000:user-defined-in-image >> etc/group"],
        making.root.path,
      );
    },
  },
  {
    names: suite("busybox", tags.busybox),
    packages: ["busybox", "bash-static"],
    base: "none",
    config: { Cmd: ["sh"] },
    // Debian's busybox has a shell that drops variables such as data-1; bash says other words than busybox.
    async fill({ root, busybox }) {
      if (busybox === undefined) await root.link("bin/sh", "/bin/bash-static");
      else copyFileSync(busybox, join(root.path, "bin/busybox"));
    },
  },
  ...tags.nginx.map(nginx),
  page("kitten"),
  page("nautilus"),
  {
    names: suite("nonewprivs", "1.4"),
    packages: [],
    base: "none",
    config: { Entrypoint: ["/agnhost", "nonewprivs"] },
    fill: (making) => add(making, making.programs.path("agnhost"), "agnhost"),
  },
  {
    names: suite("nonroot", "1.5"),
    packages: ["busybox"],
    base: "none",
    config: { User: "1234", Cmd: ["sleep", "3600"] },
  },
  {
    names: suite("glibc-dns-testing", tags.glibcDnsTesting),
    packages: ["bind9-dnsutils", "curl", "netcat-openbsd", "hostname"],
    base: "debian",
    config: { Cmd: ["sleep", "1000000"] },
    fill: linkNetcat,
  },
  {
    names: suite("sample-apiserver", "1.29.2"),
    packages: [],
    base: "none",
    config: { Entrypoint: ["/kube-sample-apiserver"] },
    fill: (making) => add(making, making.programs.path("kube-sample-apiserver"), "kube-sample-apiserver"),
  },
  {
    names: [`registry.k8s.io/etcd:${tags.etcd}`],
    packages: ["busybox"],
    base: "none",
    config: { Cmd: ["/usr/local/bin/etcd"] },
    fill(making) {
      const release = etcdRelease("3.6");
      for (const name of ["etcd", "etcdctl"])
        add(making, programPath(release, name, process.env), `usr/local/bin/${name}`);
    },
  },
];

/** Of what an image is made: it is made again when this changes. */
function recipe({ fill, ...image }: SuiteImage, busybox: string | undefined): string {
  const hash = createHash("sha256").update(`${JSON.stringify(image)}${fill}`);
  if (busybox !== undefined) hash.update(readFileSync(busybox));
  return hash.digest("hex");
}

/** Makes those that the image store does not have, or has of an older recipe. */
export async function loadSuiteImages(
  programs: SuitePrograms,
  say: (sentence: string) => void,
  busybox: string | undefined,
): Promise<void> {
  const store = new ImageStore({});
  const has = async (name: string) => (await store.find(parseImageReference(name))) !== undefined;
  const record = join(programs.directory, "images.json");
  const made = (existsSync(record) ? parseJson(readFileSync(record, "utf8")) : {}) as Record<string, string>;
  for (const image of imagesOf(programs.version)) {
    const name = image.names.join();
    const present = (await Promise.all(image.names.map(has))).every(Boolean);
    if (present && made[name] === recipe(image, busybox)) continue;
    say(`making ${image.names[0]}`);
    const work = mkdtempSync(join(tmpdir(), "keelson-conformance-image-"));
    try {
      await make(image, { programs, ...(busybox && { busybox }) }, work);
      made[name] = recipe(image, busybox);
      writeFileSync(record, JSON.stringify(made, null, 2));
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
}

async function make(image: SuiteImage, making: Omit<Making, "root">, work: string): Promise<void> {
  const path = join(work, "root");
  mkdirSync(path);
  if (image.base === "debian") await makeDebianBase(path, {});
  else await makeSkeleton(path);
  if (image.packages.length > 0) {
    const without = scriptDependencies.filter((name) => !image.packages.includes(name));
    await unpackPackages(await fetchPackages(image.packages, { installed: "nothing", without }), path);
  }
  const root = new RootDirectory(path);
  await linkApplets(root);
  await image.fill?.({ ...making, root });
  const archive = join(work, "archive");
  mkdirSync(archive);
  await output("tar", ["--numeric-owner", "-C", path, "-cf", join(archive, "layer.tar"), "."], work);
  const digest = (await output("sha256sum", [join(archive, "layer.tar")], work)).split(" ")[0];
  const env = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"];
  const config = {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Env: env, ...image.config },
    rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
  };
  writeFileSync(join(archive, "config.json"), JSON.stringify(config));
  const manifest = [{ Config: "config.json", RepoTags: image.names, Layers: ["layer.tar"] }];
  writeFileSync(join(archive, "manifest.json"), JSON.stringify(manifest));
  if (!existsSync(join(archive, "layer.tar"))) throw new Error("tar made nothing");
  await loadImages(archive);
}
