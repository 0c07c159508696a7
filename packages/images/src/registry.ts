/** Pulls images from registries that speak the distribution protocol, docker's included. */
import { parseJson } from "@keelson/core";
import { ImageError } from "./errors.ts";
import type { ImageStore } from "./image-store.ts";
import { choosePlatform, type ImageIndex, type ImageManifest, isIndex, mediaType } from "./oci.ts";
import { formatImageReference, type ImageReference } from "./reference.ts";

export interface RegistryCredential {
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

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
  const asked = reference.digest || reference.tag;
  let text = await session.text(`manifests/${asked}`, manifestTypes);
  let document = parseJson(text) as unknown as ImageIndex | ImageManifest;
  if (isIndex(document)) {
    const own = choosePlatform(document);
    if (own === undefined) {
      throw new ImageError(
        "ImageNotFound",
        `${formatImageReference(reference)} has no variant for this machine (linux/${process.arch})`,
      );
    }
    text = await session.text(`manifests/${own.digest}`, manifestTypes);
    document = parseJson(text) as unknown as ImageManifest;
  }
  const manifest = document;
  const missing = [manifest.config, ...manifest.layers].filter(({ digest }) => !store.hasBlob(digest));
  const bytes = missing.reduce((sum, { size }) => sum + (size ?? 0), 0);
  options.onProgress?.(
    `pulling ${formatImageReference(reference)} (${missing.length} blobs, ${(bytes / 1e6).toFixed(1)} MB)`,
  );
  for (const { digest } of missing) {
    const blob = await session.get(`blobs/${digest}`, "*/*");
    if (blob.body === null)
      throw new ImageError("RegistryFailed", `${reference.registry} sent an empty blob ${digest}`);
    await store.putBlob(blob.body, digest);
  }
  // Byte by byte as it came: its digest is the image's identity.
  const kept = await store.putBlob(new Blob([text]).stream());
  await store.name(reference, kept, "registry");
}

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

  async text(path: string, accept: string): Promise<string> {
    return await (await this.get(path, accept)).text();
  }

  async get(path: string, accept: string): Promise<Response> {
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
    const timer = setTimeout(() => silence.abort(new Error("no answer")), this.#options.timeoutMs ?? 10_000);
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
    const url = new URL(fields.realm ?? "");
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
    const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(registry);
    return `${local ? "http" : "https"}://${registry}`;
  }
}
