/** The little that an agent needs of the API server: one Lease, and the labels of its database's pods. */

import { readFileSync } from "node:fs";
import { Agent as HttpsAgent, request } from "node:https";
import { join } from "node:path";
import { parseKnownJson } from "../ha/json.ts";
import { readLease, writtenLease } from "../ha/lease-object.ts";
import type { StoredRecord } from "../ha/state.ts";
import { type Claim, Conflict, type LeaseStore, type Pods } from "./ports.ts";

export interface KubernetesOptions {
  readonly namespace: string;
  /** Name of the Lease. */
  readonly lease: string;
  /** The pod of this agent. */
  readonly instance: string;
  readonly roleLabel: string;
  /** On pods: whom their instance cannot reach. */
  readonly complaintAnnotation: string;
  readonly timeoutMs: number;
  /** Where the service account's token and authority are mounted. */
  readonly credentials?: string;
  readonly host?: string;
  readonly port?: number;
}

class StatusError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class Kubernetes implements LeaseStore, Pods {
  readonly #options: KubernetesOptions;
  readonly #agent = new HttpsAgent({ keepAlive: true, maxSockets: 4 });

  constructor(options: KubernetesOptions) {
    this.#options = options;
  }

  async read(): Promise<StoredRecord> {
    return readLease(await this.#call("GET", this.#leasePath));
  }

  async write(claim: Claim, version: string): Promise<StoredRecord> {
    try {
      return readLease(await this.#call("PATCH", this.#leasePath, writtenLease(claim, version)));
    } catch (error) {
      if (error instanceof StatusError && error.code === 409)
        throw new Conflict(error.message, { cause: error });
      throw error;
    }
  }

  async label(primary: string, others: readonly string[]): Promise<void> {
    const { roleLabel } = this.#options;
    const mark = async (name: string, role: string) => {
      try {
        await this.#call("PATCH", this.#podPath(name), { metadata: { labels: { [roleLabel]: role } } });
      } catch (error) {
        if (!(error instanceof StatusError && error.code === 404)) throw error;
      }
    };
    // First nobody is found by the Service, then the right one.
    await Promise.all(others.map((name) => mark(name, "replica")));
    await mark(primary, "primary");
  }

  async isGone(name: string, uid: string): Promise<boolean> {
    try {
      const pod = (await this.#call("GET", this.#podPath(name))) as { metadata?: { uid?: string } };
      return pod.metadata?.uid !== uid;
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return true;
      throw error;
    }
  }

  async complain(about: string | undefined): Promise<void> {
    const { instance, complaintAnnotation } = this.#options;
    const annotations = { [complaintAnnotation]: about ?? null };
    await this.#call("PATCH", this.#podPath(instance), { metadata: { annotations } });
  }

  async complaints(names: readonly string[], about: string): Promise<string[]> {
    const found = await Promise.all(
      names.map(async (name) => {
        const pod = await this.#call("GET", this.#podPath(name)).catch(() => undefined);
        const { metadata } = (pod ?? {}) as { metadata?: { annotations?: { [name: string]: string } } };
        return metadata?.annotations?.[this.#options.complaintAnnotation] === about ? [name] : [];
      }),
    );
    return found.flat();
  }

  get #leasePath(): string {
    const { namespace, lease } = this.#options;
    return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${lease}`;
  }

  #podPath(name: string): string {
    return `/api/v1/namespaces/${this.#options.namespace}/pods/${name}`;
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const { timeoutMs, credentials = "/var/run/secrets/kubernetes.io/serviceaccount" } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const outgoing = request(
      {
        host: this.#options.host ?? process.env["KUBERNETES_SERVICE_HOST"],
        port: this.#options.port ?? process.env["KUBERNETES_SERVICE_PORT"],
        path,
        method,
        agent: this.#agent,
        // The kubelet renews the token in place.
        ca: readFileSync(join(credentials, "ca.crt")),
        headers: {
          authorization: `Bearer ${readFileSync(join(credentials, "token"), "utf8").trim()}`,
          accept: "application/json",
          ...(text !== undefined && {
            "content-type": "application/merge-patch+json",
            "content-length": Buffer.byteLength(text),
          }),
        },
        signal: AbortSignal.timeout(timeoutMs),
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => {
          const said = Buffer.concat(chunks).toString();
          const code = answer.statusCode ?? 0;
          if (code >= 200 && code < 300) resolve(parseKnownJson(said));
          else reject(new StatusError(code, `${method} ${path}: ${code} ${said.slice(0, 300)}`));
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(text);
    return await promise;
  }
}
