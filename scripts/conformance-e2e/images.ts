/** The images that the suite's pods use: its own programs on Debian packages, under the names it asks for. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
import { etcdRelease, programPath } from "../../reference/releases.ts";
import { output, type SuitePrograms } from "./programs.ts";

interface Making {
  readonly root: RootDirectory;
  readonly programs: SuitePrograms;
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
  },
});

const images: readonly SuiteImage[] = [
  {
    names: suite("agnhost", "2.63.0", "2.55"),
    packages: ["curl", "netcat-openbsd", "bind9-dnsutils", "iproute2", "ca-certificates"],
    base: "debian",
    config: { Entrypoint: ["/agnhost"], Cmd: ["pause"] },
    async fill(making) {
      add(making, making.programs.path("agnhost"), "agnhost");
      symlinkSync("agnhost", join(making.root.path, "agnhost-2"));
      await making.root.directory("uploads");
      await making.root.accounts([{ name: "user-defined-in-image", uid: 1000, gid: 1000 }]);
      await output(
        "sh",
        ["-c", "echo group-defined-in-image:x:50000:user-defined-in-image >> etc/group"],
        making.root.path,
      );
    },
  },
  { names: suite("busybox", "1.37.0-1"), packages: ["busybox"], base: "none", config: { Cmd: ["sh"] } },
  nginx("1.15-4"),
  nginx("1.27-0"),
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
    names: suite("glibc-dns-testing", "2.0.0"),
    packages: ["bind9-dnsutils", "curl", "netcat-openbsd", "hostname"],
    base: "debian",
    config: { Cmd: ["sleep", "1000000"] },
  },
  {
    names: suite("sample-apiserver", "1.29.2"),
    packages: [],
    base: "none",
    config: { Entrypoint: ["/kube-sample-apiserver"] },
    fill: (making) => add(making, making.programs.path("kube-sample-apiserver"), "kube-sample-apiserver"),
  },
  {
    names: ["registry.k8s.io/etcd:3.6.8-0"],
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

/** Makes those that the image store does not have. */
export async function loadSuiteImages(
  programs: SuitePrograms,
  say: (sentence: string) => void,
): Promise<void> {
  const store = new ImageStore({});
  const has = async (name: string) => (await store.find(parseImageReference(name))) !== undefined;
  for (const image of images) {
    if ((await Promise.all(image.names.map(has))).every(Boolean)) continue;
    say(`making ${image.names[0]}`);
    const work = mkdtempSync(join(tmpdir(), "keelson-conformance-image-"));
    try {
      await make(image, programs, work);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
}

async function make(image: SuiteImage, programs: SuitePrograms, work: string): Promise<void> {
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
  await image.fill?.({ root, programs });
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
