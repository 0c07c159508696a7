/**
 * `keelson registry`: the image store by the distribution protocol, for tools that push and pull.
 *
 * A name without a registry of its own is one of this registry's: what is pushed to `localhost:5000/app:1` is the image
 * `localhost:5000/app:1` of the store. Any other image is read under its full name, `docker.io/library/redis`, or by a
 * client that uses this as a mirror and says whose (`?ns=docker.io`).
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { privateCache } from "@keelson/machine";
import { ImageError } from "./errors.ts";
import { ImageStore, type ImageStoreOptions } from "./image-store.ts";
import { choosePlatform, digestPattern, isIndex, mediaType, readManifest } from "./oci.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  repositoryName,
} from "./reference.ts";

/** Where a registry listens, and which store it serves. */
export interface RegistryServerOptions extends ImageStoreOptions {
  /** On loopback; 0 for a free one. Default: 5000. */
  readonly port?: number;
}

/** A registry that listens on loopback. Disposal closes it. */
export interface RegistryServer extends AsyncDisposable {
  /** `localhost:5000`: the first part of its images' names. */
  readonly address: string;
}

/** Starts a registry of the image store on loopback; everyone who can connect may push. */
export async function startRegistry(options: RegistryServerOptions = {}): Promise<RegistryServer> {
  const registry = await Registry.open(options);
  const server = createServer((request, response) => {
    registry.answer(request, response).catch((error: unknown) => fail(response, error));
  });
  server.listen(options.port ?? 5000, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await registry.close();
    },
  };
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const refusal =
    error instanceof Refusal
      ? error
      : error instanceof ImageError
        ? new Refusal(400, "MANIFEST_INVALID", error.message)
        : new Refusal(500, "UNKNOWN", error instanceof Error ? error.message : String(error));
  const body = JSON.stringify({ errors: [{ code: refusal.code, message: refusal.message }] });
  response.writeHead(refusal.status, { "content-type": "application/json" }).end(body);
}

/** Above any manifest. */
const mostManifestBytes = 4 * 1024 * 1024;

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly name: string;
  /** What the path ends with: a tag, a digest, an upload. */
  readonly last: string;
}

class Registry {
  readonly #store: ImageStore;
  readonly #work: string;
  /** Bytes of each upload so far. */
  readonly #uploads = new Map<string, number>();

  private constructor(store: ImageStore, work: string) {
    this.#store = store;
    this.#work = work;
  }

  static async open(options: ImageStoreOptions): Promise<Registry> {
    const work = await mkdtemp(join(privateCache(options.env ?? process.env), ".registry-"));
    return new Registry(new ImageStore(options), work);
  }

  async close(): Promise<void> {
    await rm(this.#work, { recursive: true, force: true });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("docker-distribution-api-version", "registry/2.0");
    const url = new URL(request.url ?? "/", `http://${request.headers.host ?? "localhost"}`);
    const path = decodeURIComponent(url.pathname);
    if (path === "/v2" || path === "/v2/") return json(response, {});
    if (path === "/v2/_catalog") return json(response, await this.#catalog(url));
    const match = /^\/v2\/(.+)\/(manifests|blobs|tags)\/(.*)$/.exec(path);
    const [, whole = "", kind = "", rest = ""] = match ?? [];
    const isUpload = kind === "uploads" || (kind === "blobs" && rest.startsWith("uploads"));
    const call: Call = {
      request,
      response,
      url,
      name: whole,
      last: isUpload ? rest.slice("uploads/".length) : rest,
    };
    const method = request.method === "HEAD" ? "GET" : (request.method ?? "GET");
    if (kind === "tags" && rest === "list" && method === "GET") return await this.#tags(call);
    if (isUpload) return await this.#upload(call, method);
    if (kind === "manifests") return await this.#manifest(call, method);
    if (kind === "blobs" && method === "GET") return await this.#blob(call);
    throw new Refusal(404, "NAME_UNKNOWN", `there is nothing at ${path}`);
  }

  /** The repository's own images have the address by which the client knows us. */
  #repository({ request, url, name }: Call): string {
    const of = url.searchParams.get("ns");
    const [first = ""] = name.split("/");
    if (of) return `${of}/${name}`;
    return name.includes("/") && /[.:]|^localhost$/.test(first) ? name : `${request.headers.host}/${name}`;
  }

  #reference(call: Call): ImageReference {
    const repository = this.#repository(call);
    const mark = digestPattern.test(call.last) ? "@" : ":";
    try {
      return parseImageReference(`${repository}${mark}${call.last}`);
    } catch (error) {
      throw new Refusal(400, "NAME_INVALID", error instanceof Error ? error.message : String(error));
    }
  }

  /** Images of the store by repository: its tags and what they mean. */
  async #repositories(): Promise<Map<string, Map<string, string>>> {
    const found = new Map<string, Map<string, string>>();
    for (const { name, digest } of await this.#store.list()) {
      const reference = parseImageReference(name);
      const tags = found.get(repositoryName(reference)) ?? new Map<string, string>();
      found.set(repositoryName(reference), tags.set(reference.tag, digest));
    }
    return found;
  }

  async #catalog(url: URL): Promise<object> {
    const all = [...(await this.#repositories()).keys()].sort();
    const last = url.searchParams.get("last") ?? "";
    const most = Number(url.searchParams.get("n") ?? all.length);
    return { repositories: all.filter((name) => name > last).slice(0, most) };
  }

  async #tags(call: Call): Promise<void> {
    const tags = (await this.#repositories()).get(this.#canonical(call));
    if (!tags) throw new Refusal(404, "NAME_UNKNOWN", `there is no repository ${call.name}`);
    json(call.response, { name: call.name, tags: [...tags.keys()].sort() });
  }

  #canonical(call: Call): string {
    return repositoryName(parseImageReference(`${this.#repository(call)}:any`));
  }

  async #manifest(call: Call, method: string): Promise<void> {
    const reference = this.#reference(call);
    if (method === "PUT") return await this.#putManifest(call, reference);
    if (method === "DELETE") {
      if (!(await this.#store.remove(reference))) throw unknownManifest(reference);
      call.response.writeHead(202).end();
      return;
    }
    const digest =
      reference.digest || (await this.#repositories()).get(repositoryName(reference))?.get(reference.tag);
    if (digest === undefined || !this.#store.hasBlob(digest)) throw unknownManifest(reference);
    const path = this.#store.blobPath(digest);
    const { size } = await stat(path);
    if (size > mostManifestBytes) throw unknownManifest(reference);
    const text = await readFile(path, "utf8");
    call.response.writeHead(200, {
      "content-type": typeOf(text),
      "content-length": size,
      "docker-content-digest": digest,
    });
    call.response.end(call.request.method === "HEAD" ? undefined : text);
  }

  /** An image for several platforms is kept whole; its name means the one for this machine. */
  async #putManifest(call: Call, reference: ImageReference): Promise<void> {
    const text = await textOf(call.request);
    const document = readManifest(text, formatImageReference(reference));
    const needed = isIndex(document)
      ? document.manifests.map(({ digest }) => digest)
      : [document.config, ...document.layers].map(({ digest }) => digest);
    const missing = isIndex(document) ? undefined : needed.find((digest) => !this.#store.hasBlob(digest));
    if (missing) throw new Refusal(404, "MANIFEST_BLOB_UNKNOWN", `blob ${missing} is not here`);
    const kept = await this.#store.putBlob(new Blob([text]).stream(), reference.digest || undefined);
    const image = isIndex(document) ? choosePlatform(document)?.digest : kept.digest;
    if (reference.tag !== "" && image !== undefined) {
      if (!this.#store.hasBlob(image))
        throw new Refusal(404, "MANIFEST_BLOB_UNKNOWN", `${image} is not here`);
      await this.#store.unpack(image, formatImageReference(reference));
      const { size } = await stat(this.#store.blobPath(image));
      const index = image === kept.digest ? undefined : kept.digest;
      await this.#store.name(reference, { digest: image, size }, "store", index);
    }
    call.response.writeHead(201, {
      location: `/v2/${call.name}/manifests/${kept.digest}`,
      "docker-content-digest": kept.digest,
    });
    call.response.end();
  }

  async #blob({ request, response, last }: Call): Promise<void> {
    if (!digestPattern.test(last) || !this.#store.hasBlob(last))
      throw new Refusal(404, "BLOB_UNKNOWN", `blob ${last} is not here`);
    const path = this.#store.blobPath(last);
    const { size } = await stat(path);
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    const start = range ? Number(range[1]) : 0;
    const end = range?.[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
    if (start > end && size > 0) throw new Refusal(416, "UNSUPPORTED", "there are no such bytes");
    response.writeHead(range ? 206 : 200, {
      "content-type": "application/octet-stream",
      "content-length": size === 0 ? 0 : end - start + 1,
      "docker-content-digest": last,
      "accept-ranges": "bytes",
      ...(range && { "content-range": `bytes ${start}-${end}/${size}` }),
    });
    if (request.method === "HEAD" || size === 0) response.end();
    else await pipeline(createReadStream(path, { start, end }), response);
  }

  async #upload(call: Call, method: string): Promise<void> {
    const { response, url, name, last: id } = call;
    if (method === "POST" && id === "") return await this.#begin(call);
    const size = this.#uploads.get(id);
    if (size === undefined) throw new Refusal(404, "BLOB_UPLOAD_UNKNOWN", `there is no upload ${id}`);
    switch (method) {
      case "GET":
        return this.#progress(response, name, id, 204);
      case "PATCH":
        await this.#append(call, id, size);
        return this.#progress(response, name, id, 202);
      case "PUT":
        await this.#append(call, id, size);
        return await this.#finish(call, id, url.searchParams.get("digest") ?? "");
      case "DELETE":
        await this.#forget(id);
        response.writeHead(204).end();
        return;
      default:
        throw new Refusal(405, "UNSUPPORTED", `${method} is not for uploads`);
    }
  }

  /** A blob that is here already is in every repository. */
  async #begin(call: Call): Promise<void> {
    const { response, url, name } = call;
    const mounted = url.searchParams.get("mount") ?? "";
    if (digestPattern.test(mounted) && this.#store.hasBlob(mounted)) return created(response, name, mounted);
    const id = randomUUID();
    this.#uploads.set(id, 0);
    const digest = url.searchParams.get("digest");
    if (digest === null) return this.#progress(response, name, id, 202);
    await this.#append(call, id, 0);
    await this.#finish(call, id, digest);
  }

  async #append({ request }: Call, id: string, size: number): Promise<void> {
    const range = /^(\d+)-/.exec(request.headers["content-range"] ?? "");
    if (range && Number(range[1]) !== size)
      throw new Refusal(416, "BLOB_UPLOAD_INVALID", `the upload has ${size} bytes`);
    const file = createWriteStream(join(this.#work, id), { flags: "a" });
    await pipeline(request, file);
    this.#uploads.set(id, size + file.bytesWritten);
  }

  async #finish({ response, name }: Call, id: string, digest: string): Promise<void> {
    if (!digestPattern.test(digest)) throw new Refusal(400, "DIGEST_INVALID", `${digest} is no digest`);
    try {
      await this.#store.putBlob(createReadStream(join(this.#work, id)), digest);
    } catch (error) {
      if (error instanceof ImageError) throw new Refusal(400, "DIGEST_INVALID", error.message);
      throw error;
    } finally {
      await this.#forget(id);
    }
    created(response, name, digest);
  }

  async #forget(id: string): Promise<void> {
    this.#uploads.delete(id);
    await rm(join(this.#work, id), { force: true });
  }

  #progress(response: ServerResponse, name: string, id: string, status: number): void {
    const size = this.#uploads.get(id) ?? 0;
    response.writeHead(status, {
      location: `/v2/${name}/blobs/uploads/${id}`,
      range: `0-${Math.max(0, size - 1)}`,
      "docker-upload-uuid": id,
      "content-length": 0,
    });
    response.end();
  }
}

function created(response: ServerResponse, name: string, digest: string): void {
  response.writeHead(201, {
    location: `/v2/${name}/blobs/${digest}`,
    "docker-content-digest": digest,
    "content-length": 0,
  });
  response.end();
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function unknownManifest(reference: ImageReference): Refusal {
  return new Refusal(404, "MANIFEST_UNKNOWN", `${formatImageReference(reference)} is not in the image store`);
}

/** What a manifest says that it is; older ones of OCI do not. */
function typeOf(text: string): string {
  const said =
    /"mediaType"\s*:\s*"(application\/vnd\.(?:oci\.image|docker\.distribution)\.[^"]*(?:manifest|index)[^"]*)"/.exec(
      text,
    );
  const known: readonly string[] = [
    mediaType.manifest,
    mediaType.index,
    mediaType.dockerManifest,
    mediaType.dockerList,
  ];
  if (said?.[1] && known.includes(said[1])) return said[1];
  return isIndex(readManifest(text, "the manifest")) ? mediaType.index : mediaType.manifest;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostManifestBytes) throw new Refusal(413, "MANIFEST_INVALID", "the manifest is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
