import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  ImageError,
  ImageStore,
  Images,
  loadImages,
  parseImageReference,
  pullImage,
  pushImage,
} from "../src/index.ts";
import { dockerArchive, makeLayer, ociLayout } from "./archives.ts";

let home: string;
let env: Record<string, string>;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "images-"));
  env = { KEELSON_CACHE: join(home, "cache"), PATH: process.env.PATH ?? "" };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const long = `${"deep/".repeat(30)}file-with-a-long-name`;

function layers(): string[] {
  return [
    makeLayer(home, "base.tar", {
      "bin/app": "one",
      "etc/gone": "x",
      "etc/kept": "y",
      "opt/a/old": "1",
      "opt/a/b/old": "2",
      "var/run": { link: "/run" },
      run: null,
      [long]: "far",
    }),
    makeLayer(home, "top.tar", {
      "bin/app": "two",
      "bin/twin": { hard: "bin/app" },
      "etc/.wh.gone": "",
      "opt/a/.wh..wh..opq": "",
      "opt/a/new": "3",
      "var/run/pid": "4",
    }),
  ];
}

async function expectImage(name: string): Promise<void> {
  const image = await new Images({ env }).find(name);
  expect(image?.config).toMatchObject({
    entrypoint: ["/bin/app"],
    cmd: ["--help"],
    workingDir: "/srv",
    user: "5:6",
  });
  const read = (path: string) => readFileSync(join(image?.rootfs ?? "", path), "utf8");
  expect(read("bin/app")).toBe("two");
  expect(read("bin/twin")).toBe("two");
  expect(read(long)).toBe("far");
  expect(existsSync(join(image?.rootfs ?? "", "etc/gone"))).toBe(false);
  expect(read("etc/kept")).toBe("y");
  expect(readdirSync(join(image?.rootfs ?? "", "opt/a"))).toEqual(["new"]);
}

describe("loading images", () => {
  test("a docker archive becomes an image by its tag", async () => {
    const archive = dockerArchive(home, "example/app:1", layers());
    const loaded = await loadImages(archive, { env });
    expect(loaded.map(({ name }) => name)).toEqual(["docker.io/example/app:1"]);
    await expectImage("example/app:1");
  });

  test("a compressed archive is read by what it is, not by its name", async () => {
    execFileSync("gzip", [dockerArchive(home, "example/app:1", layers())]);
    await loadImages(join(home, "docker.tar.gz"), { env });
    await expectImage("docker.io/example/app:1");
  });

  test("an OCI layout is read through its platform index, and named when it has no name", async () => {
    const layout = ociLayout(home, undefined, layers());
    await expect(loadImages(layout, { env })).rejects.toThrow("--name");
    await loadImages(layout, { env, name: "localhost/app:dev" });
    await expectImage("localhost/app:dev");
  });

  test("a link in a layer never leads out of the image", async () => {
    const evil = makeLayer(home, "evil.tar", { out: { link: home } });
    makeLayer(home, "second.tar", { "out/planted": "x" });
    const second = join(home, "file-only.tar");
    execFileSync("tar", ["-C", join(home, "second.tar.d"), "-cf", second, "out/planted"]);
    await loadImages(dockerArchive(home, "evil:1", [evil, second]), { env });
    const image = await new Images({ env }).find("evil:1");
    expect(existsSync(join(home, "planted"))).toBe(false);
    expect(readFileSync(join(image?.rootfs ?? "", home, "planted"), "utf8")).toBe("x");
  });

  test("modes survive, read-only directories included, but not what lends rights to the user who runs a file", async () => {
    const layer = join(home, "modes.tar");
    execFileSync("sh", [
      "-c",
      `mkdir -p ${home}/m/ro && echo x > ${home}/m/ro/f && chmod 4755 ${home}/m/ro/f && chmod 555 ${home}/m/ro && tar -C ${home}/m -cf ${layer} .`,
    ]);
    await loadImages(dockerArchive(home, "modes:1", [layer]), { env });
    const image = await new Images({ env }).find("modes:1");
    expect(statSync(join(image?.rootfs ?? "", "ro")).mode & 0o7777).toBe(0o555);
    expect(lstatSync(join(image?.rootfs ?? "", "ro/f")).mode & 0o7777).toBe(0o755);
    execFileSync("chmod", ["-R", "u+w", home]);
  });

  test("a damaged blob is refused", async () => {
    const layout = ociLayout(home, "app:1", layers());
    for (const name of readdirSync(join(layout, "blobs/sha256"))) {
      const path = join(layout, "blobs/sha256", name);
      if (statSync(path).size > 5000) writeFileSync(path, "damaged");
    }
    await expect(loadImages(layout, { env })).rejects.toThrow("damaged");
  });

  test("something else is refused in words", async () => {
    writeFileSync(join(home, "text"), "not an archive at all, but long enough to look like one".repeat(20));
    await expect(loadImages(join(home, "text"), { env })).rejects.toThrow("no tar archive");
    await expect(loadImages(join(home, "nowhere"), { env })).rejects.toThrow("does not exist");
  });

  describe("of an image without a name", () => {
    const stored = () => join(home, "cache/images/store");
    const left = () => ({
      roots: readdirSync(join(stored(), "roots")),
      blobs: readdirSync(join(stored(), "blobs/sha256")),
    });
    const age = (path: string) => utimesSync(path, 0, 0);
    const ageAll = () => {
      for (const name of left().roots) age(join(stored(), "roots", name));
      for (const name of left().blobs) age(join(stored(), "blobs/sha256", name));
    };
    const load = async (name: string) => {
      await loadImages(dockerArchive(home, name, layers()), { env });
      return await new Images({ env }).find(name);
    };

    test("everything goes, once nobody wanted it for an hour", async () => {
      await load("example/app:1");
      const store = new ImageStore({ env });
      expect(await store.remove(parseImageReference("example/app:1"))).toBe(true);
      expect(await store.remove(parseImageReference("example/app:1"))).toBe(false);
      expect(left().roots).toHaveLength(1);
      ageAll();
      // A process died here while it removed something.
      mkdirSync(join(stored(), "roots/.removed-before/rootfs"), { recursive: true });
      expect(await store.prune()).toEqual({ roots: 1, blobs: 4 });
      expect(left()).toEqual({ roots: [], blobs: [] });
    });

    test("what another image needs, what a pod stands on and what was asked for stays", async () => {
      const image = await load("example/app:1");
      const store = new ImageStore({ env });
      const [{ digest = "" } = {}] = await store.list();
      await store.name(parseImageReference("example/app:2"), { digest, size: 1 }, "store");
      await store.remove(parseImageReference("example/app:1"));
      ageAll();
      expect(await store.prune()).toEqual({ roots: 0, blobs: 0 });

      const asked = left().blobs[0] ?? "";
      expect(store.hasBlob(`sha256:${asked}`)).toBe(true);
      const sleeper = ["sh", "-c", 'mount --bind "$1" /mnt && echo mounted && exec cat', "sh"];
      const pod = spawn("unshare", ["--user", "--map-root-user", "--mount", ...sleeper, image?.rootfs ?? ""]);
      await once(pod.stdout, "data");
      await store.remove(parseImageReference("example/app:2"));
      expect(left()).toMatchObject({ roots: [expect.any(String)], blobs: [asked] });

      pod.kill("SIGKILL");
      await once(pod, "exit");
      ageAll();
      await store.prune();
      expect(left()).toEqual({ roots: [], blobs: [] });
    });
  });
});

const digestOf = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

describe("pushing images", () => {
  test("a registry gets what it lacks, by its own places, and another machine pulls the same image", async () => {
    const [loaded] = await loadImages(ociLayout(home, "app:1", layers()), { env });
    const blobs = new Map<string, Buffer>();
    const asked: string[] = [];
    const server = createServer((request, response) => {
      const { method = "", url = "" } = request;
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        if (request.headers.authorization !== `Basic ${btoa("me:secret")}`) {
          response.writeHead(401, { "www-authenticate": "Basic" });
          return response.end();
        }
        const key = /(sha256:[0-9a-f]{64})$/.exec(decodeURIComponent(url))?.[1] ?? url;
        asked.push(`${method} ${url.replace(/sha256.*/, "")}`);
        if (method === "POST") return response.writeHead(202, { location: "/upload/7?state=x" }).end();
        if (method === "PUT") {
          const [content, type] = [Buffer.concat(chunks), request.headers["content-type"] ?? ""];
          blobs.set(key, content);
          if (type.includes("manifest")) blobs.set(digestOf(content), content);
          return response.writeHead(201).end();
        }
        const found = blobs.get(key);
        return found ? response.end(method === "HEAD" ? "" : found) : response.writeHead(404).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const registry = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const credentials = [{ registry, username: "me", password: "secret" }];
    const { store } = new Images({ env });
    const push = () =>
      pushImage(parseImageReference(`${registry}/team/app:2`), {
        ...{ store, credentials, digest: loaded?.digest ?? "" },
      });
    try {
      await push();
      expect(asked.filter((each) => each.startsWith("PUT /upload/7?state=x"))).toHaveLength(3);
      asked.length = 0;
      await push();
      expect(asked).toEqual([
        "HEAD /v2/team/app/blobs/",
        "HEAD /v2/team/app/blobs/",
        "HEAD /v2/team/app/blobs/",
        "PUT /v2/team/app/manifests/2",
      ]);
      const elsewhere = new Images({ env: { ...env, KEELSON_CACHE: join(home, "elsewhere") } });
      const pulled = await elsewhere.pull(`${registry}/team/app:2`, credentials);
      expect(pulled.repoDigest).toBe(`${registry}/team/app@${loaded?.digest}`);
      const stranger = pushImage(parseImageReference(`${registry}/team/app:2`), {
        ...{ store, digest: loaded?.digest ?? "" },
      });
      await expect(stranger).rejects.toThrow(/wants a password/);
    } finally {
      server.close();
    }
  });
});

describe("pulling images", () => {
  test("a registry that wants a token gives the image, and names it by digest too", async () => {
    const layout = ociLayout(home, "app:1", layers());
    const index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
      manifests: { digest: string }[];
    };
    const blob = (digest: string) => readFileSync(join(layout, "blobs", ...digest.split(":")));
    const server = createServer((request, response) => {
      const url = request.url ?? "";
      if (url.startsWith("/token")) return void response.end(JSON.stringify({ token: "secret" }));
      if (request.headers.authorization !== "Bearer secret") {
        const realm = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
        response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}",service="test"` });
        return void response.end();
      }
      const digest =
        /(sha256:[0-9a-f]{64})$/.exec(url)?.[1] ??
        (url.endsWith("/manifests/1") ? index.manifests[0]?.digest : undefined);
      if (digest === undefined) return void response.writeHead(404).end();
      response.end(blob(digest));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const registry = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const images = new Images({ env });
      const image = await images.pull(`${registry}/team/app:1`);
      expect(image.origin).toBe("registry");
      await expectImage(`${registry}/team/app:1`);
      await expectImage(image.repoDigest);
      const absent = pullImage(parseImageReference(`${registry}/team/app:2`), { store: images.store });
      await expect(absent).rejects.toMatchObject({ code: "ImageNotFound" });
    } finally {
      server.close();
    }
  });

  test("what cannot be had is refused with everything that was tried and what to do", async () => {
    const failing = new Images({ env }).pull("127.0.0.1:1/nothing/here:1");
    await expect(failing).rejects.toBeInstanceOf(ImageError);
    await expect(failing).rejects.toThrow(/keelson image load.*cannot be reached/);
  });
});
