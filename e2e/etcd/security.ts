/** What clients of a cluster show and trust, followed as a mounted Secret is: authorities are replaced while they write. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@keelson/client";
import { Secret } from "keelson/kinds";

const readEveryMs = 1_000;

export interface SecurityOptions {
  readonly client: Client;
  readonly namespace: string;
  /** Of the cluster. */
  readonly name: string;
  /** Of etcd's user root. */
  readonly password: string;
}

interface Material {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export class Security implements AsyncDisposable {
  readonly password: string;
  /** What etcd gave for the password; undefined before the first, and after one was refused. */
  token: Promise<string> | undefined;
  readonly #options: SecurityOptions;
  readonly #following: Promise<void>;
  readonly #stop = new AbortController();
  #material: Material | undefined;

  constructor(options: SecurityOptions) {
    this.password = options.password;
    this.#options = options;
    this.#following = this.#follow();
  }

  /** For a connection to that member. Without the Secret there is nothing to show, and no member answers. */
  toMember(pod: string): Partial<Material> & { readonly servername: string } {
    const { name, namespace } = this.#options;
    return { ...this.#material, servername: `${pod}.${name}.${namespace}.svc` };
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    const { client, namespace, name } = this.#options;
    const secrets = client.kind(Secret);
    while (!signal.aborted) {
      // While the API server is away, what was read last is used, as from a mounted Secret.
      const found = await secrets.find({ namespace, name: `${name}-client-tls` }).catch(() => undefined);
      const text = (key: string) => Buffer.from(found?.data?.[key] ?? "", "base64").toString();
      if (found) this.#material = { ca: text("ca.crt"), cert: text("tls.crt"), key: text("tls.key") };
      await sleep(readEveryMs, undefined, { signal }).catch(() => {});
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }
}
