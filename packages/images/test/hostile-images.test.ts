/** Images and registries that mean harm: each is refused by name, and nothing outside the store has changed. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ImageStore, Images, loadImages, parseImageReference, pullImage } from "../src/index.ts";
import { type HostileEntry, hostileTar, pax } from "./hostile-tar.ts";

const digestOf = (content: Buffer | string) => `sha256:${createHash("sha256").update(content).digest("hex")}`;

describe("hostile images", () => {
  let home: string;
  let cache: string;
  let env: Record<string, string>;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "hostile-"));
    cache = join(home, "cache");
    mkdirSync(join(cache, "images"), { recursive: true });
    writeFileSync(join(cache, "images", "precious"), "kept");
    writeFileSync(join(home, "secret"), "of this machine");
    env = { KEELSON_CACHE: cache, PATH: process.env.PATH ?? "" };
  });
  afterEach(() => {
    expect(readFileSync(join(cache, "images", "precious"), "utf8")).toBe("kept");
    expect(readFileSync(join(home, "secret"), "utf8")).toBe("of this machine");
    rmSync(home, { recursive: true, force: true });
  });

  const write = (name: string, bytes: Buffer | string) => {
    writeFileSync(join(home, name), bytes);
    return join(home, name);
  };
  const json = (value: unknown) => JSON.stringify(value);
  /** A docker archive of one image; `over` replaces or adds entries. */
  const archive = (
    layers: readonly Buffer[],
    over: readonly HostileEntry[] = [],
    names?: readonly string[],
  ) => {
    const config = { config: { Cmd: ["/app"] }, rootfs: { type: "layers", diff_ids: layers.map(digestOf) } };
    const paths = names ?? layers.map((_, index) => `layer${index}.tar`);
    return write(
      "image.tar",
      hostileTar([
        { path: "config.json", content: json(config) },
        {
          path: "manifest.json",
          content: json([{ Config: "config.json", RepoTags: ["evil:1"], Layers: paths }]),
        },
        ...layers.map((content, index) => ({ path: `layer${index}.tar`, content })),
        ...over,
      ]),
    );
  };
  const refused = async (path: string, complaint: string | RegExp) => {
    await expect(loadImages(path, { env })).rejects.toMatchObject({ code: "BadArchive" });
    await expect(loadImages(path, { env })).rejects.toThrow(complaint);
    expect(await new Images({ env }).find("evil:1")).toBeUndefined();
    // Nothing half-made either.
    const left = readdirSync(join(cache, "images")).filter((name) => name.startsWith(".loading"));
    expect(left).toEqual([]);
  };
  const plain = hostileTar([{ path: "app", content: "x" }]);

  test.each<[string, HostileEntry[], string]>([
    ["hides the cache", [{ path: ".wh..." }], "cannot be loaded"],
    ["makes the cache writable", [{ path: "..", flag: "5", mode: "0000777" }], 'entry ".." leaves'],
    ["puts a link in the cache's place", [{ path: "..", flag: "2", link: "/" }], 'entry ".." leaves'],
    ["climbs out", [{ path: "../../secret", content: "changed" }], 'entry "../../secret" leaves'],
    ["has a size in words", [pax({ size: "abc" }), {}], "invalid size"],
    ["has a device", [{ path: "zero", flag: "3" }], 'entry "zero" is a character, not a file'],
  ])("an archive that %s", async (_, over, complaint) => {
    if (over[0]?.path === ".wh...") {
      // Outside of a layer it is a file like any other.
      await expect(loadImages(archive([plain], over), { env })).resolves.toHaveLength(1);
      return;
    }
    await refused(archive([plain], over), complaint);
  });

  test.each<[string, string[], HostileEntry[]]>([
    ["above it", ["../../secret"], []],
    ["by its full path", ["/etc/passwd"], []],
    ["through a link", ["link"], [{ path: "link", flag: "2", link: "../../secret" }]],
    ["through a link with a full path", ["link"], [{ path: "link", flag: "2", link: "/etc/passwd" }]],
    ["through a hard link", ["link"], [{ path: "link", flag: "1", link: "../../secret" }]],
    [
      "through links in a circle",
      ["a"],
      [
        { path: "a", flag: "2", link: "b" },
        { path: "b", flag: "2", link: "a" },
      ],
    ],
  ])("an archive whose layer is a file of the machine %s", async (_, names, over) => {
    await refused(archive([plain], over, names), `there is no file ${JSON.stringify(names[0])} in it`);
  });

  test("an archive whose layers are links to others of its files is none of them", async () => {
    const link = { path: "dir/shared.tar", flag: "2", link: "../layer0.tar" };
    await loadImages(archive([plain], [link], ["dir/shared.tar"]), { env });
    const image = await new Images({ env }).find("evil:1");
    expect(readFileSync(join(image?.rootfs ?? "", "app"), "utf8")).toBe("x");
  });

  test.each<[string, HostileEntry[], string]>([
    ["hides its root's parent", [{ path: ".wh..." }], 'entry ".wh..." hides nothing'],
    ["hides its root", [{ path: ".wh.." }], 'entry ".wh.." hides nothing'],
    ["hides nothing", [{ path: "a/.wh." }], 'entry "a/.wh." hides nothing'],
    ["climbs out", [{ path: "a/../../../x" }], "leaves the archive's root"],
    ["is the root's parent", [{ path: "..", flag: "5", mode: "0000777" }], "leaves the archive's root"],
    ["has a size in words", [pax({ size: "abc" }), {}], "invalid size"],
    [
      "links to a file that is not there",
      [{ flag: "1", link: "../../../../etc/passwd" }],
      "which is not there",
    ],
    ["leads in circles", [{ path: "a", flag: "2", link: "a" }, { path: "a/b" }], "leads in circles"],
  ])("a layer that %s", async (_, entries, complaint) => {
    await refused(archive([hostileTar(entries)]), complaint);
    await refused(archive([plain, hostileTar(entries)]), complaint);
  });

  test("a layer that is cut, or no archive at all", async () => {
    await refused(archive([plain.subarray(0, 600)]), "ends in the middle");
    await refused(archive([Buffer.from("x".repeat(2000))]), "no tar archive");
    await refused(archive([gzipSync(plain).subarray(0, 60)]), "cannot be unpacked");
  });

  test("files lend nobody their owner's rights, and others cannot reach them", async () => {
    const layer = hostileTar([
      { path: "su", content: "x", mode: "0004755" },
      { path: "sg", content: "x", mode: "0002755" },
    ]);
    await loadImages(archive([layer]), { env });
    const { rootfs = "" } = (await new Images({ env }).find("evil:1")) ?? {};
    for (const name of ["su", "sg"]) expect(statSync(join(rootfs, name)).mode & 0o7777).toBe(0o755);
    expect(statSync(cache).mode & 0o077).toBe(0);
  });

  test.each<[string, unknown, string]>([
    ["a manifest that is no list", { Config: "config.json" }, "manifest.json is malformed"],
    [
      "a manifest without layers",
      [{ Config: "config.json", RepoTags: ["evil:1"] }],
      "manifest.json is malformed",
    ],
    [
      "layers that are no texts",
      [{ Config: "config.json", RepoTags: ["evil:1"], Layers: [1] }],
      "is malformed",
    ],
    [
      "a configuration that is not there",
      [{ Config: "no.json", RepoTags: ["evil:1"], Layers: [] }],
      '"no.json"',
    ],
  ])("%s", async (_, manifest, complaint) => {
    const entries = [
      { path: "config.json", content: json({ rootfs: { diff_ids: [] } }) },
      { path: "manifest.json", content: json(manifest) },
    ];
    await refused(write("image.tar", hostileTar(entries)), complaint);
  });

  test("a document without end", async () => {
    const entries = [{ path: "manifest.json", content: Buffer.alloc(9 * 1024 * 1024, "[") }];
    await refused(write("image.tar", hostileTar(entries)), "too large");
  });

  describe("that take another's name", () => {
    const genuine = hostileTar([{ path: "app", content: "genuine" }]);
    const evil = hostileTar([{ path: "app", content: "evil" }]);

    test("an image with the configuration of another and layers of its own is not run in its place", async () => {
      const config = json({
        config: { Cmd: ["/app"] },
        rootfs: { type: "layers", diff_ids: [digestOf(genuine)] },
      });
      const image = (layer: Buffer, tag: string) =>
        write(
          `${tag}.tar`,
          hostileTar([
            { path: "c", content: config },
            { path: "l", content: layer },
            {
              path: "manifest.json",
              content: json([{ Config: "c", RepoTags: [`${tag}:1`], Layers: ["l"] }]),
            },
          ]),
        );
      await refused(image(evil, "evil"), "which the configuration speaks of");
      await loadImages(image(genuine, "genuine"), { env });
      const { rootfs = "" } = (await new Images({ env }).find("genuine:1")) ?? {};
      expect(readFileSync(join(rootfs, "app"), "utf8")).toBe("genuine");
    });

    test.each([0, 2])("an image of one layer whose configuration speaks of %i", async (count) => {
      const diffIds = [digestOf(genuine), digestOf(evil)].slice(0, count);
      const entries = [
        { path: "c", content: json({ rootfs: { type: "layers", diff_ids: diffIds } }) },
        { path: "l", content: genuine },
        { path: "manifest.json", content: json([{ Config: "c", RepoTags: ["evil:1"], Layers: ["l"] }]) },
      ];
      await refused(write("image.tar", hostileTar(entries)), `its configuration speaks of ${count}`);
    });

    test("what is changed in the cache is noticed when it is used", async () => {
      await loadImages(archive([genuine]), { env });
      const store = new ImageStore({ env });
      const { digest = "" } = (await store.list())[0] ?? {};
      const { config, layers } = await store.manifest(digest);
      rmSync(join(cache, "images/store/roots"), { recursive: true });
      const changes: [string, Buffer | string][] = [
        [layers[0]?.digest ?? "", evil],
        [config.digest, json({ config: { Cmd: ["/evil"] }, rootfs: { diff_ids: [digestOf(genuine)] } })],
        [digest, json({ config, layers: [{ digest: digestOf(evil) }] })],
      ];
      for (const [changed, content] of changes) {
        const before = readFileSync(store.blobPath(changed));
        writeFileSync(store.blobPath(changed), content);
        await expect(store.find(parseImageReference("evil:1"))).rejects.toThrow(
          `${changed} in the image store is damaged`,
        );
        writeFileSync(store.blobPath(changed), before);
      }
      await expect(store.find(parseImageReference("evil:1"))).resolves.toBeDefined();
    });
  });

  describe("that lie open", () => {
    const layout = (blobs: Readonly<Record<string, string>>, manifests: unknown) => {
      const root = join(home, "layout");
      mkdirSync(join(root, "blobs/sha256"), { recursive: true });
      for (const [name, content] of Object.entries(blobs)) writeFileSync(join(root, name), content);
      writeFileSync(join(root, "index.json"), json({ manifests }));
      return root;
    };

    test.each(["sha256:../../../secret", "../secret", "sha512:00", "sha256:"])(
      "the digest %s",
      async (digest) => {
        await refused(layout({}, [{ digest }]), "is no digest that we know");
      },
    );

    test("a blob that is a link to a file of the machine", async () => {
      const digest = digestOf("of this machine");
      const root = layout({}, [{ digest }]);
      symlinkSync(join(home, "secret"), join(root, "blobs", ...digest.split(":")));
      await refused(root, "leads out of");
      expect(existsSync(join(cache, "images/store/blobs/sha256", digest.slice(7)))).toBe(false);
    });
  });
});

describe("hostile registries", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "hostile-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const pulling = async (
    listener: RequestListener,
    reference: (registry: string) => string,
    password?: string,
  ) => {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const registry = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const store = new ImageStore({ env: { KEELSON_CACHE: join(home, "cache") } });
      const credentials = password === undefined ? [] : [{ registry, username: "me", password }];
      await pullImage(parseImageReference(reference(registry)), { store, credentials, timeoutMs: 300 });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };
  const manifest = JSON.stringify({ config: { digest: digestOf("{}") }, layers: [] });

  test("a manifest that is not the one asked for by digest", async () => {
    const asked = `sha256:${"a".repeat(64)}`;
    const pull = pulling(
      (_, response) => response.end(manifest),
      (registry) => `${registry}/app@${asked}`,
    );
    await expect(pull).rejects.toThrow(`sends manifest ${digestOf(manifest)} where ${asked} was promised`);
  });

  test("a manifest that is not the one in the answer's header", async () => {
    const headers = { "docker-content-digest": `sha256:${"b".repeat(64)}` };
    const pull = pulling(
      (_, response) => response.writeHead(200, headers).end(manifest),
      (registry) => `${registry}/app:1`,
    );
    await expect(pull).rejects.toThrow("was promised");
  });

  test("a variant that is not the one in the index", async () => {
    const listed = { digest: `sha256:${"c".repeat(64)}` };
    const pull = pulling(
      (request, response) =>
        response.end(request.url?.includes("sha256:") ? manifest : JSON.stringify({ manifests: [listed] })),
      (registry) => `${registry}/app:1`,
    );
    await expect(pull).rejects.toThrow(`${listed.digest} was promised`);
  });

  test("a blob that is not the one in the manifest, or longer than it", async () => {
    const layer = { digest: `sha256:${"d".repeat(64)}`, size: 10 };
    const text = JSON.stringify({ config: layer, layers: [] });
    const serve = (blob: string) =>
      pulling(
        (request, response) => response.end(request.url?.includes("/blobs/") ? blob : text),
        (registry) => `${registry}/app:1`,
      );
    await expect(serve("0123456789")).rejects.toThrow("as promised");
    await expect(serve("0123456789+")).rejects.toThrow("longer than the 10 bytes promised");
  });

  test("a manifest without end, and one that stops in the middle", async () => {
    const endless = pulling(
      (_, response) => {
        const more = () => {
          while (response.write("[".repeat(65_536)));
        };
        response.on("drain", more);
        more();
      },
      (registry) => `${registry}/app:1`,
    );
    await expect(endless).rejects.toThrow("without end");
    const silent = pulling(
      (_, response) => void response.write("{"),
      (registry) => `${registry}/app:1`,
    );
    await expect(silent).rejects.toThrow("fell silent");
  });

  test.each([
    ["in the clear", "http://registry.example.com/token", "not encrypted"],
    ["at a stranger's", "https://example.com/token", "somewhere else"],
    ["nowhere", "not an address", "no address"],
  ])("a login %s does not get the password", async (_, realm, complaint) => {
    const pull = pulling(
      (__, response) => response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}"` }).end(),
      (registry) => `${registry}/app:1`,
      "hunter2",
    );
    await expect(pull).rejects.toThrow(complaint);
  });
});
