/** Pulls images from registries that speak the distribution protocol, docker's included. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { parseJson } from "@keelson/core";
import { ImageError } from "./errors.ts";
import type { ImageStore } from "./image-store.ts";
import { choosePlatform, isIndex, mediaType, readManifest } from "./oci.ts";
import { formatImageReference, type ImageReference } from "./reference.ts";

/** A user and a password for one registry. */
export interface RegistryCredential {
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

/** How an image is pulled from a registry. */
export interface PullOptions {
  readonly store: ImageStore;
  readonly credentials?: readonly RegistryCredential[];
  readonly onProgress?: (sentence: string) => void;
  /** How long a registry may stay silent. Default: 10 s. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

const manifestTypes = [
  mediaType.manifest,
  mediaType.index,
  mediaType.dockerManifest,
  mediaType.dockerList,
].join(", ");

/** Brings the image into the store under its name. */
export async function pullImage(reference: ImageReference, options: PullOptions): Promise<void> {
  const session = new RegistrySession(reference, options);
  const { store } = options;
  const name = formatImageReference(reference);
  let text = await session.manifest(reference.digest || reference.tag);
  let document = readManifest(text, name);
  if (isIndex(document)) {
    const own = choosePlatform(document);
    if (own === undefined) {
      throw new ImageError(
        "ImageNotFound",
        `${name} has no variant for this machine (linux/${process.arch})`,
      );
    }
    text = await session.manifest(own.digest);
    document = readManifest(text, name);
    if (isIndex(document)) throw new ImageError("BadArchive", `${own.digest} is no image but an index`);
  }
  const manifest = document;
  const missing = [manifest.config, ...manifest.layers].filter(({ digest }) => !store.hasBlob(digest));
  const bytes = missing.reduce((sum, { size }) => sum + (size ?? 0), 0);
  options.onProgress?.(`pulling ${name} (${missing.length} blobs, ${(bytes / 1e6).toFixed(1)} MB)`);
  for (const { digest, size } of missing) {
    await store.putBlob(await session.body(`blobs/${digest}`, "*/*"), digest, size);
  }
  // Byte by byte as it came: its digest is the image's identity.
  const kept = await store.putBlob(new Blob([text]).stream());
  await store.unpack(kept.digest, name);
  await store.name(reference, kept, "registry");
}

const defaultTimeoutMs = 10_000;
const largestManifest = 4 * 1024 * 1024;

class RegistrySession {
  readonly #reference: ImageReference;
  readonly #options: PullOptions;
  readonly #fetch: typeof fetch;
  #authorization: string | undefined;

  constructor(reference: ImageReference, options: PullOptions) {
    this.#reference = reference;
    this.#options = options;
    this.#fetch = options.fetch ?? fetch;
  }

  /** By tag or digest. What comes must be what was asked for, and what the registry says that it sends. */
  async manifest(asked: string): Promise<string> {
    const response = await this.#get(`manifests/${asked}`, manifestTypes);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of this.#patiently(response)) {
      size += chunk.length;
      if (size > largestManifest) {
        throw new ImageError("RegistryFailed", `${this.#reference.registry} sends a manifest without end`);
      }
      chunks.push(chunk);
    }
    const bytes = Buffer.concat(chunks);
    const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    const promised = [asked, response.headers.get("docker-content-digest") ?? ""].filter((each) =>
      each.includes(":"),
    );
    const broken = promised.find((each) => each !== digest);
    if (broken !== undefined) {
      throw new ImageError(
        "RegistryFailed",
        `${this.#reference.registry} sends manifest ${digest} where ${broken} was promised`,
      );
    }
    return bytes.toString("utf8");
  }

  async body(path: string, accept: string): Promise<AsyncIterable<Uint8Array>> {
    return this.#patiently(await this.#get(path, accept));
  }

  /** A registry that falls silent in the middle must not hold us for ever. */
  async *#patiently(response: Response): AsyncGenerator<Uint8Array> {
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    const silenceMs = this.#options.timeoutMs ?? defaultTimeoutMs;
    try {
      for (;;) {
        const { promise: silence, reject } = Promise.withResolvers<never>();
        const timer = setTimeout(
          () =>
            reject(new ImageError("RegistryFailed", `the registry ${this.#reference.registry} fell silent`)),
          silenceMs,
        );
        const next = await Promise.race([reader.read(), silence]).finally(() => clearTimeout(timer));
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  async #get(path: string, accept: string): Promise<Response> {
    const { repository } = this.#reference;
    const url = `${this.#origin()}/v2/${repository}/${path}`;
    let response = await this.#send(url, accept);
    if (response.status === 401) {
      await response.body?.cancel();
      this.#authorization = await this.#logIn(response.headers.get("www-authenticate") ?? "");
      response = await this.#send(url, accept);
    }
    if (response.ok) return response;
    await response.body?.cancel();
    const name = formatImageReference(this.#reference);
    if (response.status === 404)
      throw new ImageError("ImageNotFound", `${this.#reference.registry} has no ${name}`);
    throw new ImageError(
      "RegistryFailed",
      `${this.#reference.registry} answers ${response.status} to a pull of ${name}`,
    );
  }

  async #send(url: string, accept: string): Promise<Response> {
    const headers: Record<string, string> = { accept };
    if (this.#authorization !== undefined) headers.authorization = this.#authorization;
    const silence = new AbortController();
    const timer = setTimeout(
      () => silence.abort(new Error("no answer")),
      this.#options.timeoutMs ?? defaultTimeoutMs,
    );
    try {
      return await this.#fetch(url, { headers, signal: silence.signal });
    } catch (error) {
      const reason =
        error instanceof Error
          ? String((error.cause as Error | undefined)?.message ?? error.message)
          : String(error);
      throw new ImageError(
        "RegistryFailed",
        `the registry ${this.#reference.registry} cannot be reached (${reason})`,
        {
          cause: error,
        },
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** `Bearer realm=…,service=…,scope=…` sends us to a token service; `Basic` wants the password itself. */
  async #logIn(challenge: string): Promise<string> {
    const credential = this.#credential();
    const basic =
      credential &&
      `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString("base64")}`;
    if (!/^bearer /i.test(challenge)) {
      if (basic !== undefined) return basic;
      throw new ImageError(
        "RegistryFailed",
        `the registry ${this.#reference.registry} wants a password: add an imagePullSecret`,
      );
    }
    const fields = Object.fromEntries(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    );
    const url = this.#realm(fields.realm ?? "", basic !== undefined);
    if (fields.service) url.searchParams.set("service", fields.service);
    url.searchParams.set("scope", fields.scope ?? `repository:${this.#reference.repository}:pull`);
    const response = await this.#fetch(url, { headers: basic === undefined ? {} : { authorization: basic } });
    if (!response.ok)
      throw new ImageError("RegistryFailed", `${url.host} refuses a token: ${response.status}`);
    const { token, access_token } = parseJson(await response.text()) as {
      token?: string;
      access_token?: string;
    };
    return `Bearer ${token ?? access_token}`;
  }

  /** A password goes to nobody but the registry's own kin, and never in the clear. */
  #realm(text: string, withPassword: boolean): URL {
    const { registry } = this.#reference;
    const refuse = (why: string) =>
      new ImageError(
        "RegistryFailed",
        `the registry ${registry} wants us to log in at ${JSON.stringify(text)}, ${why}`,
      );
    if (!URL.canParse(text)) throw refuse("which is no address");
    const url = new URL(text);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal(registry) && isLocal(url.host))) {
      throw refuse("which is not encrypted");
    }
    if (withPassword && !isKin(registry, url.hostname))
      throw refuse("which is somewhere else: the password stays here");
    return url;
  }

  #credential(): RegistryCredential | undefined {
    const { registry } = this.#reference;
    const bare = (name: string) =>
      name
        .replace(/^https?:\/\//, "")
        .replace(/\/.*$/, "")
        .replace("index.docker.io", "docker.io");
    return this.#options.credentials?.find((one) => bare(one.registry) === registry);
  }

  #origin(): string {
    const { registry } = this.#reference;
    if (registry === "docker.io") return "https://registry-1.docker.io";
    // A registry on this very machine has no certificate.
    return `${isLocal(registry) ? "http" : "https"}://${registry}`;
  }
}

function isLocal(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/.test(host);
}

/** The same host, or one of the same domain: `registry.example.com` logs in at `auth.example.com`. */
function isKin(registry: string, host: string): boolean {
  const own = registry.replace(/:\d{1,5}$/, "");
  if (own === host) return true;
  const domain = own === "docker.io" ? own : own.split(".").slice(1).join(".");
  return domain.includes(".") && isIP(own) === 0 && (host === domain || host.endsWith(`.${domain}`));
}
