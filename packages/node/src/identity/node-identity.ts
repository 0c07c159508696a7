/** A node's own identity: asked for with what it joins with, kept over restarts, renewed before it ends. */
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Client, type Credential, type Credentials, isUnauthorized } from "@keelson/client";
import type { Cancel, Clock, Random } from "@keelson/core";
import { privateDirectory } from "@keelson/machine";
import { Node } from "../api/kinds.ts";
import { NodeError } from "../errors.ts";
import { requestCertificate } from "./certificate-request.ts";
import {
  type NodeCertificate,
  readNodeCertificate,
  writeNodeCertificate,
  writePrivate,
} from "./node-certificate.ts";

export interface NodeIdentityOptions {
  readonly nodeName: string;
  /** Holds the certificate and its key. */
  readonly directory: string;
  /** A client that may ask for a certificate: by a bootstrap token, for example. Asked when there is none to go on with. */
  readonly join: () => Promise<Client>;
  /** A client that shows these credentials. */
  readonly connect: (credentials: Credentials) => Promise<Client>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: (message: string) => void;
}

/** As a kubelet: somewhere between 70 and 90 percent of its time a certificate is replaced. */
const renewal = { earliest: 0.7, spread: 0.2 };
/** Where our clock is ahead of the signer's, a new certificate is due at once: that must not become a loop. */
const shortestRenewalMs = 60_000;
/** No timer is longer than this: the clock may be set, and timers of a month overflow. */
const longestTimerMs = 24 * 3_600_000;
/** Named as a kubelet's. */
const currentFile = "kubelet-client-current.pem";
const pendingKeyFile = "kubelet-client.key.tmp";
const retryMs = { first: 10_000, most: 10 * 60_000 };

export class NodeIdentity implements Credentials, AsyncDisposable {
  readonly #options: NodeIdentityOptions;
  readonly #end = new AbortController();
  #held: NodeCertificate | undefined;
  #client: Client | undefined;
  #cancel: Cancel = () => undefined;
  #renewAtMs = 0;
  #failures = 0;

  private constructor(options: NodeIdentityOptions) {
    this.#options = options;
  }

  /** Resolves when the node is itself. */
  static async open(options: NodeIdentityOptions): Promise<NodeIdentity> {
    const identity = new NodeIdentity(options);
    try {
      await identity.#open();
      return identity;
    } catch (error) {
      await identity[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Acts as the node. Closed with the identity. */
  get client(): Client {
    if (this.#client === undefined) throw new Error("the identity is not open");
    return this.#client;
  }

  async current(): Promise<Credential> {
    const { certificate, key } = this.#held ?? {};
    return { certificate, key };
  }

  async refused(credential: Credential): Promise<boolean> {
    return credential.certificate !== this.#held?.certificate;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    this.#cancel();
    await this.#client?.close();
  }

  async #open(): Promise<void> {
    privateDirectory(this.#options.directory);
    const kept = readNodeCertificate(this.#path(currentFile), this.#options.nodeName);
    if (kept !== undefined && this.#isValid(kept)) this.#hold(kept);
    this.#client = await this.#options.connect(this);
    if (this.#held === undefined || !(await this.#isAccepted())) await this.#ask();
    this.#schedule();
  }

  #path(name: string): string {
    return join(this.#options.directory, name);
  }

  #isValid({ notAfterMs }: NodeCertificate): boolean {
    return this.#options.clock.now() < notAfterMs;
  }

  /** A control plane with another authority does not know us any more; one that is away may well do. */
  async #isAccepted(): Promise<boolean> {
    try {
      await this.client.kind(Node).find({ name: this.#options.nodeName });
      return true;
    } catch (error) {
      return !isUnauthorized(error);
    }
  }

  /** Gets the first certificate, or one in place of a lost one. */
  async #ask(): Promise<void> {
    await using joining = closing(await this.#options.join());
    await this.#obtain(joining.client);
  }

  /** The key is kept until there is a certificate for it, so that a node that starts again asks for the same. */
  async #obtain(client: Client): Promise<void> {
    const { nodeName, clock, log } = this.#options;
    const path = this.#path(pendingKeyFile);
    const key = readKey(path) ?? newKey(path);
    const signal = this.#end.signal;
    try {
      const granted = await requestCertificate({ client, nodeName, key, clock, log, signal });
      writeNodeCertificate(this.#path(currentFile), granted);
      this.#hold(granted);
    } catch (error) {
      // A request that was refused stays refused: the next one must be another.
      if (error instanceof NodeError) rmSync(path, { force: true });
      throw error;
    }
    rmSync(path, { force: true });
  }

  #hold(certificate: NodeCertificate): void {
    const { notBeforeMs, notAfterMs } = certificate;
    const share = renewal.earliest + renewal.spread * this.#options.random.next();
    this.#held = certificate;
    this.#renewAtMs = notBeforeMs + (notAfterMs - notBeforeMs) * share;
  }

  #schedule(delayMs = this.#renewAtMs - this.#options.clock.now()): void {
    if (this.#end.signal.aborted) return;
    const delay = Math.max(0, Math.min(delayMs, longestTimerMs));
    this.#cancel = this.#options.clock.timer(delay, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { clock, log, nodeName } = this.#options;
    if (clock.now() < this.#renewAtMs) return this.#schedule();
    try {
      if (this.#held !== undefined && this.#isValid(this.#held)) await this.#obtain(this.client);
      else await this.#ask();
      this.#failures = 0;
      log(`node ${nodeName} has a new certificate`);
      this.#schedule(Math.max(shortestRenewalMs, this.#renewAtMs - clock.now()));
    } catch (error) {
      if (this.#end.signal.aborted) return;
      log(`node ${nodeName} cannot renew its certificate: ${String(error)}`);
      this.#schedule(Math.min(retryMs.first * 2 ** this.#failures++, retryMs.most));
    }
  }
}

function closing(client: Client): AsyncDisposable & { readonly client: Client } {
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

/** Undefined when there is none, or a power cut left no whole one. */
function readKey(path: string): string | undefined {
  try {
    const key = readFileSync(path, "utf8");
    createPrivateKey(key);
    return key;
  } catch {
    return undefined;
  }
}

function newKey(path: string): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  writePrivate(path, key);
  return key;
}
