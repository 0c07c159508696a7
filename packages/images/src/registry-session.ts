/** One conversation with a registry that speaks the distribution protocol: who we are, and one repository. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { parseJson } from "@keelson/core";
import { ImageError } from "./errors.ts";
import { mediaType } from "./oci.ts";
import { formatImageReference, type ImageReference } from "./reference.ts";

/** A user and a password for one registry. */
export interface RegistryCredential {
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

/** How a registry is talked to. */
export interface SessionOptions {
  readonly credentials?: readonly RegistryCredential[];
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

const defaultTimeoutMs = 10_000;
const largestManifest = 4 * 1024 * 1024;

export class RegistrySession {
  readonly #reference: ImageReference;
  readonly #options: SessionOptions;
  readonly #fetch: typeof fetch;
  #authorization: string | undefined;

  constructor(reference: ImageReference, options: SessionOptions) {
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

  /** Whether the registry has a blob of the repository. */
  async hasBlob(digest: string): Promise<boolean> {
    const response = await this.#ask(this.#url(`blobs/${digest}`), { method: "HEAD" });
    await response.body?.cancel();
    if (response.status === 404) return false;
    if (response.ok) return true;
    throw await this.#refused(response, "a push");
  }

  /** Uploads a blob in one piece. */
  async putBlob(digest: string, content: Blob): Promise<void> {
    const begun = await this.#ask(this.#url("blobs/uploads/"), { method: "POST" });
    await begun.body?.cancel();
    if (begun.status !== 202) throw await this.#refused(begun, "a push");
    // It may lead anywhere on the registry, and may be relative.
    const place = new URL(begun.headers.get("location") ?? "", begun.url || this.#origin());
    place.searchParams.set("digest", digest);
    const headers = { "content-type": "application/octet-stream" };
    const put = await this.#ask(place.href, { method: "PUT", headers, body: content });
    await put.body?.cancel();
    if (put.status !== 201) throw await this.#refused(put, "a push");
  }

  async putManifest(tag: string, type: string, content: Blob): Promise<void> {
    const headers = { "content-type": type };
    const put = await this.#ask(this.#url(`manifests/${tag}`), { method: "PUT", headers, body: content });
    await put.body?.cancel();
    if (put.status !== 201) throw await this.#refused(put, "a push");
  }

  async #get(path: string, accept: string): Promise<Response> {
    const response = await this.#ask(this.#url(path), { headers: { accept } });
    if (response.ok) return response;
    throw await this.#refused(response, "a pull");
  }

  #url(path: string): string {
    return `${this.#origin()}/v2/${this.#reference.repository}/${path}`;
  }

  async #refused(response: Response, doing: string): Promise<ImageError> {
    await response.body?.cancel().catch(() => undefined);
    const name = formatImageReference(this.#reference);
    const { registry } = this.#reference;
    return response.status === 404
      ? new ImageError("ImageNotFound", `${registry} has no ${name}`)
      : new ImageError("RegistryFailed", `${registry} answers ${response.status} to ${doing} of ${name}`);
  }

  /** Logs in when the registry asks for it. */
  async #ask(url: string, init: RequestInit): Promise<Response> {
    const response = await this.#send(url, init);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    this.#authorization = await this.#logIn(response.headers.get("www-authenticate") ?? "");
    return await this.#send(url, init);
  }

  async #send(url: string, init: RequestInit): Promise<Response> {
    const headers: Record<string, string> = { ...(init.headers as Record<string, string> | undefined) };
    if (this.#authorization !== undefined) headers.authorization = this.#authorization;
    const silence = new AbortController();
    const timer = setTimeout(
      () => silence.abort(new Error("no answer")),
      this.#options.timeoutMs ?? defaultTimeoutMs,
    );
    try {
      return await this.#fetch(url, { ...init, headers, signal: silence.signal });
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
