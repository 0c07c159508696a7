/** The little that an agent needs of the API server: one Lease, and the labels of its database's pods. */
import { readLease, writtenLease } from "../ha/lease-object.ts";
import type { StoredRecord } from "../ha/state.ts";
import { type Claim, Conflict, type LeaseStore, type Pods } from "./ports.ts";

/** On pods: the primary that this instance cannot reach, and its epoch. */
const complaintAnnotation = "database.keelson.dev/cannot-reach";

export interface KubernetesOptions {
  readonly namespace: string;
  /** Name of the Lease. */
  readonly lease: string;
  /** The pod of this agent. */
  readonly instance: string;
  readonly roleLabel: string;
  /** Sends a request: a body is a merge patch. Rejects with `StatusError` when it is refused. */
  readonly send: Send;
}

export type Send = (method: "GET" | "PATCH", path: string, body?: unknown) => Promise<unknown>;

/** The API server refused a request. */
export class StatusError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class Kubernetes implements LeaseStore, Pods {
  readonly #options: KubernetesOptions;

  constructor(options: KubernetesOptions) {
    this.#options = options;
  }

  async read(): Promise<StoredRecord> {
    return readLease(await this.#options.send("GET", this.#leasePath));
  }

  async write(claim: Claim, version: string): Promise<StoredRecord> {
    try {
      return readLease(await this.#options.send("PATCH", this.#leasePath, writtenLease(claim, version)));
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
        await this.#options.send("PATCH", this.#podPath(name), {
          metadata: { labels: { [roleLabel]: role } },
        });
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
      const pod = (await this.#options.send("GET", this.#podPath(name))) as { metadata?: { uid?: string } };
      return pod.metadata?.uid !== uid;
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return true;
      throw error;
    }
  }

  async complain(about: string | undefined): Promise<void> {
    const { instance } = this.#options;
    const annotations = { [complaintAnnotation]: about ?? null };
    await this.#options.send("PATCH", this.#podPath(instance), { metadata: { annotations } });
  }

  async complaints(names: readonly string[], about: string): Promise<string[]> {
    const found = await Promise.all(
      names.map(async (name) => {
        const pod = await this.#options.send("GET", this.#podPath(name)).catch(() => undefined);
        const { metadata } = (pod ?? {}) as { metadata?: { annotations?: { [name: string]: string } } };
        return metadata?.annotations?.[complaintAnnotation] === about ? [name] : [];
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
}
