/**
 * Keeps the certificate of the webhooks: in a Secret that all replicas share, or in this process alone. Each replica
 * looks at the Secret and may renew it; the version in the update lets one of them win, and the others load what it wrote.
 */
import { type Client, isConflict } from "@keelson/client";
import type { Cancel, Clock, Stored } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { Logger } from "../log/logger.ts";
import {
  type CertificateLives,
  type Certificates,
  certificateProblem,
  planCertificates,
} from "./certificates.ts";
import { Secret } from "./configurations.ts";
import { follow } from "./follow.ts";

export interface KeeperOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * `shared`: a Secret that is kept here. `given`: a Secret that another keeps, as cert-manager does. `own`: in memory,
   * for a process that has no replicas.
   */
  readonly mode: "shared" | "given" | "own";
  readonly namespace: string;
  readonly secret: string;
  /** Names and addresses that servers call the webhooks by. */
  readonly names: readonly string[];
  readonly lives?: CertificateLives;
  readonly signal: AbortSignal;
  /** Called with each certificate that is to be served from now on. */
  readonly load: (certificates: Certificates) => void;
}

/** A look at the clock is due at least this often: timers do not count while a machine sleeps. */
const longestWaitMs = 3_600_000;
const retryMs = 5_000;

export class CertificateKeeper {
  readonly #options: KeeperOptions;
  #held: Partial<Certificates> = {};
  #loaded: Certificates | undefined;
  #secret: Stored | undefined;
  #problem: string | undefined = "there is no certificate yet";
  #timer: Cancel | undefined;
  #working: Promise<void> = Promise.resolve();
  #following: Promise<unknown> = Promise.resolve();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  start(): void {
    const { client, log, signal, mode, namespace, secret } = this.#options;
    if (mode === "own") {
      this.#look();
      return;
    }
    this.#following = follow({
      ...{ client, log, signal, namespace, kind: Secret, name: secret },
      see: (object) => {
        this.#secret = object;
        this.#held = object ? decoded(object) : {};
        this.#look();
      },
      fail: (error) => {
        if (error && !this.#loaded) this.#problem = `cannot watch Secret ${secret}: ${error.message}`;
      },
    });
  }

  /** Resolves when nothing is followed or written any more. */
  async ended(): Promise<void> {
    this.#timer?.();
    await this.#following;
    await this.#working;
  }

  /** Why there is no certificate to serve; undefined when there is. */
  problem(): string | undefined {
    return this.#problem;
  }

  #look(): void {
    this.#working = this.#working
      .then(() => this.#keep())
      .catch((error: unknown) => {
        const { log, signal, secret } = this.#options;
        if (signal.aborted) return;
        log.error("the certificate of the webhooks cannot be served", { secret, error });
        if (!this.#loaded) this.#problem = `Secret ${secret} cannot be served: ${errorText(error)}`;
        this.#lookAgain(retryMs);
      });
  }

  async #keep(): Promise<void> {
    const { clock, mode, names, lives, signal, secret } = this.#options;
    if (signal.aborted) return;
    this.#timer?.();
    if (mode === "given") {
      const problem = certificateProblem(this.#held, clock.now());
      this.#problem = problem && `Secret ${secret} cannot be served: ${problem}`;
      if (problem === undefined) this.#load(this.#held as Certificates);
      this.#lookAgain(longestWaitMs);
      return;
    }
    if (mode === "shared" && !this.#secret) {
      this.#problem = `Secret ${secret} does not exist; keelson generate writes it, without data`;
      return;
    }
    const plan = planCertificates(this.#held, names, clock.now(), lives);
    if (plan.changed && !(await this.#store(plan.certificates))) return;
    this.#load(plan.certificates);
    this.#lookAgain(Math.min(longestWaitMs, Math.max(1_000, plan.nextAtMs - clock.now())));
  }

  #lookAgain(afterMs: number): void {
    const { clock, signal } = this.#options;
    if (!signal.aborted) this.#timer = clock.timer(afterMs, () => this.#look());
  }

  /** False when it was not stored; the next state of the Secret, or a timer, brings us back. */
  async #store(certificates: Certificates): Promise<boolean> {
    const { client, mode, signal, log, secret } = this.#options;
    this.#held = certificates;
    if (mode === "own") return true;
    try {
      const data = Object.fromEntries(
        Object.entries(certificates).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
      );
      const object = { ...this.#secret, data } as never;
      this.#secret = (await client.kind(Secret).update(object, { signal })) as Stored;
      log.info("the certificate of the webhooks was renewed", { secret });
      return true;
    } catch (error) {
      this.#held = this.#secret ? decoded(this.#secret) : {};
      // Another replica was faster: what it wrote is on its way to us.
      if (signal.aborted || isConflict(error)) return false;
      log.warn("the certificate of the webhooks could not be renewed", { secret, error });
      if (!this.#loaded) this.#problem = `cannot write Secret ${secret}: ${errorText(error)}`;
      this.#lookAgain(retryMs);
      return false;
    }
  }

  #load(certificates: Certificates): void {
    const before = this.#loaded;
    const same = (["tls.crt", "tls.key", "ca.crt"] as const).every(
      (key) => before?.[key] === certificates[key],
    );
    if (!same) this.#options.load(certificates);
    this.#loaded = certificates;
    this.#problem = undefined;
  }
}

function decoded(secret: Stored): Partial<Certificates> {
  const { data = {} } = secret as { data?: Record<string, string> };
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}
