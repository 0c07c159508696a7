/** A scenario on real processes: one object in a namespace of its own, in a cluster that can be broken. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiObject } from "@keelson/apiserver";
import type { Client } from "@keelson/client";
import { type AnyKind, apiVersionOf, type Clock, systemClock } from "@keelson/core";
import type { Fault } from "@keelson/node";
import { type Identity, type Primary, Scene } from "@keelson/testing";
import {
  ConfigMap,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
} from "keelson/kinds";
import type { Installation } from "../operator/installation.ts";

/** A running cluster with the operator installed in it. */
export interface RealCluster {
  readonly client: Client;
  readonly operator: Installation;
  inject(fault: Fault): Promise<void>;
  stopApiServer(): void;
  continueApiServer(): void;
}

const controllerLabel = "keelson.dev/controller";
const lookMs = 400;

/** What people may touch, by the name of its resource. */
const kinds: Readonly<Record<string, AnyKind>> = {
  pods: Pod,
  services: Service,
  secrets: Secret,
  configmaps: ConfigMap,
  "policy/poddisruptionbudgets": PodDisruptionBudget,
  persistentvolumeclaims: PersistentVolumeClaim,
};

export class RealScene extends Scene implements AsyncDisposable {
  readonly cluster: RealCluster;
  readonly #owned = new Map<string, readonly ApiObject[]>();
  readonly #watching: Promise<void>;
  #startMs = performance.now();
  #primary: Primary | undefined;
  #over = false;
  readonly #say: (sentence: string) => void;

  /** `say` hears of everything at once. Default: nobody listens, and the last of it is in `trace`. */
  constructor(cluster: RealCluster, subject: Identity, say: (sentence: string) => void = () => {}) {
    super(subject);
    this.cluster = cluster;
    this.#say = say;
    this.#watching = this.#watch();
  }

  override note(text: string): void {
    super.note(text);
    this.#say(`${(this.atMs / 1_000).toFixed(1).padStart(8)} ${text}`);
  }

  /** Time counts from here. */
  begin(): void {
    this.#startMs = performance.now();
  }

  get client(): Client {
    return this.cluster.client;
  }

  get clock(): Clock {
    return systemClock;
  }

  get atMs(): number {
    return performance.now() - this.#startMs;
  }

  async advance(ms: number): Promise<void> {
    await sleep(ms);
  }

  get primary(): Primary | undefined {
    return this.#primary;
  }

  /** As at the last look, see `look`. */
  owned(resource: string): readonly ApiObject[] {
    return this.#owned.get(resource) ?? [];
  }

  get namespace(): string {
    return this.subject.ref.namespace;
  }

  /** A pod as faults name it. */
  pod(name: string): { readonly namespace: string; readonly name: string } {
    return { namespace: this.namespace, name };
  }

  /** Looks at everything again. */
  async look(): Promise<void> {
    const { namespace } = this;
    await this.#lookAtPrimary();
    for (const [resource, kind] of Object.entries(kinds)) {
      const { items } = await this.client.kind(kind).list({ namespace });
      const whole = items as unknown as ApiObject[];
      this.#owned.set(
        resource,
        whole
          .filter(({ metadata }) => metadata.labels?.[controllerLabel] !== undefined)
          .map((object) => ({ ...object, apiVersion: apiVersionOf(kind), kind: kind.kind })),
      );
    }
  }

  async nodes(): Promise<readonly string[]> {
    const { items } = await this.client.kind(Node).list();
    return items.map(({ metadata }) => metadata.name).sort();
  }

  /** Where the volume of a claim is on this machine. */
  async volumeOf(claim: string): Promise<{ readonly volume: string; readonly path: string }> {
    const { spec } = await this.client.kind(PersistentVolumeClaim).get(this.pod(claim));
    const volume = spec?.volumeName ?? "";
    const found = await this.client.kind(PersistentVolume).get({ name: volume });
    const path = found.spec?.hostPath?.path ?? found.spec?.local?.path;
    if (path === undefined) throw new Error(`volume ${volume} is nowhere on this machine`);
    return { volume, path };
  }

  /** A fault, unless what it is about has gone meanwhile. */
  async inject(fault: Fault): Promise<boolean> {
    try {
      await this.cluster.inject(fault);
      return true;
    } catch (error) {
      this.note(`${fault.kind}: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }

  async makeNamespace(): Promise<void> {
    await this.client.kind(Namespace).create({ metadata: { name: this.namespace } });
  }

  async #lookAtPrimary(): Promise<void> {
    const { kind, ref } = this.subject;
    const found = await this.client.kind(kind).find(ref);
    this.#primary = found as unknown as Primary | undefined;
  }

  async #watch(): Promise<void> {
    let before = "";
    while (!this.#over) {
      await this.#lookAtPrimary().catch(() => {});
      const ready = this.condition("Ready");
      const text = ready ? `Ready=${ready.status} ${ready.reason}: ${ready.message}` : "no condition Ready";
      if (text !== before) this.note(text);
      before = text;
      await sleep(lookMs);
    }
  }

  /** The scenario is over: what it had goes with its namespace. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    await this.#watching;
    await this.client.kind(Namespace).delete({ name: this.namespace });
  }
}
