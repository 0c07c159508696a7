/** The image store by the distribution protocol: what is pushed can be used, and what is there can be pulled. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ImageStore,
  loadImages,
  parseImageReference,
  pullImage,
  type RegistryServer,
  startRegistry,
} from "../src/index.ts";
import { dockerArchive, makeLayer } from "./archives.ts";

const home = mkdtempSync(join(tmpdir(), "keelson-registry-"));
const env = { ...process.env, KEELSON_CACHE: join(home, "cache") };
const elsewhere = { ...process.env, KEELSON_CACHE: join(home, "elsewhere") };
let server: RegistryServer;
let url = "";

beforeAll(async () => {
  server = await startRegistry({ env, port: 0 });
  url = `http://${server.address}/v2`;
  const layer = makeLayer(home, "loaded.tar", { "etc/loaded": "yes" });
  await loadImages(dockerArchive(home, "docker.io/library/app:1", [layer]), { env });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const digestOf = (content: Uint8Array | string) =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;

async function upload(content: Buffer, pieces: number): Promise<string> {
  const digest = digestOf(content);
  const begun = await fetch(`${url}/team/app/blobs/uploads/`, { method: "POST" });
  expect(begun.status).toBe(202);
  let location = begun.headers.get("location") ?? "";
  const size = Math.ceil(content.length / pieces);
  for (let at = 0; at < content.length; at += size) {
    const chunk = content.subarray(at, at + size);
    const sent = await fetch(new URL(location, url), {
      method: "PATCH",
      headers: { "content-range": `${at}-${at + chunk.length - 1}` },
      body: new Uint8Array(chunk),
    });
    expect([sent.status, sent.headers.get("range")]).toEqual([202, `0-${at + chunk.length - 1}`]);
    location = sent.headers.get("location") ?? "";
  }
  const ended = await fetch(new URL(`${location}?digest=${digest}`, url), { method: "PUT" });
  expect([ended.status, ended.headers.get("docker-content-digest")]).toEqual([201, digest]);
  return digest;
}

test("an image that is pushed is there for pods under the name it was pushed to", async () => {
  const layer = readFileSync(makeLayer(home, "pushed.tar", { "etc/pushed": "yes" }));
  const config = Buffer.from(
    JSON.stringify({
      architecture: "amd64",
      os: "linux",
      config: { Cmd: ["/app"] },
      rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
    }),
  );
  const manifest = (layers: readonly string[]) =>
    JSON.stringify({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: {
        mediaType: "application/vnd.oci.image.config.v1+json",
        digest: digestOf(config),
        size: config.length,
      },
      layers: layers.map((digest) => ({
        mediaType: "application/vnd.oci.image.layer.v1.tar",
        digest,
        size: 1,
      })),
    });
  const put = (text: string) => fetch(`${url}/team/app/manifests/2`, { method: "PUT", body: text });
  await upload(config, 1);
  const early = await put(manifest([digestOf(layer)]));
  expect([early.status, await early.json()]).toMatchObject([
    404,
    { errors: [{ code: "MANIFEST_BLOB_UNKNOWN" }] },
  ]);
  await upload(layer, 3);
  const text = manifest([digestOf(layer)]);
  const done = await put(text);
  expect([done.status, done.headers.get("docker-content-digest")]).toEqual([201, digestOf(text)]);
  const found = await new ImageStore({ env }).find(parseImageReference(`${server.address}/team/app:2`));
  expect(readFileSync(join(found?.rootfs ?? "", "etc/pushed"), "utf8")).toBe("yes");
  expect(found?.config.cmd).toEqual(["/app"]);
  const tags = await (await fetch(`${url}/team/app/tags/list`)).json();
  expect(tags).toEqual({ name: "team/app", tags: ["2"] });
});

test("an image of the store is pulled, by its full name or through a mirror", async () => {
  const store = new ImageStore({ env: elsewhere });
  const reference = parseImageReference(`${server.address}/docker.io/library/app:1`);
  await pullImage(reference, { store, credentials: [] });
  const pulled = await store.find(reference);
  expect(readFileSync(join(pulled?.rootfs ?? "", "etc/loaded"), "utf8")).toBe("yes");
  const mirrored = await fetch(`${url}/library/app/manifests/1?ns=docker.io`);
  expect(mirrored.headers.get("docker-content-digest")).toBe(pulled?.repoDigest.split("@")[1]);
  const { layers } = (await mirrored.json()) as { layers: { digest: string }[] };
  const part = await fetch(`${url}/library/app/blobs/${layers[0]?.digest}`, {
    headers: { range: "bytes=0-9" },
  });
  expect([part.status, (await part.arrayBuffer()).byteLength]).toEqual([206, 10]);
  expect(await (await fetch(`${url}/_catalog`)).json()).toMatchObject({
    repositories: expect.arrayContaining(["docker.io/library/app"]),
  });
});

test("a blob that is not what it is called is refused, and so is what is not there", async () => {
  const wrong = await fetch(`${url}/a/blobs/uploads/?digest=${digestOf("other")}`, {
    method: "POST",
    body: "this",
  });
  expect([wrong.status, await wrong.json()]).toMatchObject([400, { errors: [{ code: "DIGEST_INVALID" }] }]);
  expect((await fetch(`${url}/a/blobs/${digestOf("other")}`)).status).toBe(404);
  expect((await fetch(`${url}/a/manifests/1`)).status).toBe(404);
  expect((await fetch(`${url}/../../etc/passwd`)).status).toBe(404);
  expect((await fetch(`${url}/a/blobs/uploads/..%2F..%2Fx`, { method: "PATCH", body: "x" })).status).toBe(
    404,
  );
});

test("a name that is taken away is gone", async () => {
  const remove = () => fetch(`${url}/team/app/manifests/2`, { method: "DELETE" });
  expect((await remove()).status).toBe(202);
  expect((await remove()).status).toBe(404);
});
