/** The webhooks of an operator that runs: their listener, their certificate, and their registration. */
import type { Client } from "@keelson/client";
import type { Clock } from "@keelson/core";
import type { Resource } from "@keelson/schema";
import type { Logger } from "../log/logger.ts";
import { Answerer, type WebhookObserver } from "./answer.ts";
import type { CertificateLives } from "./certificates.ts";
import {
  CustomResourceDefinition,
  convertedCrd,
  MutatingConfiguration,
  ValidatingConfiguration,
  webhookConfigurations,
  webhookServiceName,
} from "./configurations.ts";
import { CertificateKeeper } from "./keeper.ts";
import { httpsListen, type Listen, type WebhookListener } from "./listener.ts";
import { Registrar } from "./registrar.ts";
import type { Webhook } from "./webhook.ts";

/** How webhooks are served. */
export interface WebhookServerOptions {
  /** Default: 9443. 0 lets the system choose. */
  readonly port?: number;
  /** Default: all addresses. */
  readonly host?: string;
  /**
   * Where the API server reaches this process, as `https://192.168.0.7:9443`: for a process outside the cluster. The
   * configurations are then made when it starts and taken away when it stops. Without it they are those that
   * `keelson generate` writes, and lead to a Service. Default: what the environment variable `KEELSON_WEBHOOK_URL` says,
   * whose port is then listened on.
   */
  readonly url?: string;
  /**
   * `own`: made and renewed by the operator and written into the configurations. `given`: another, such as
   * cert-manager, keeps the Secret and the configurations. Default: `own`.
   */
  readonly certificates?: "own" | "given";
  /** The Secret that replicas share the certificate by. Default: the operator's name and `-webhook`. */
  readonly secret?: string;
  /** How long certificates live. Default: a year for an authority, 90 days for a certificate. */
  readonly lives?: CertificateLives;
}

export interface WebhooksParts {
  /** Not fenced: a standby serves webhooks too. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** The operator's. */
  readonly name: string;
  readonly webhooks: readonly Webhook[];
  readonly converted: readonly Resource[];
  readonly options: WebhookServerOptions;
  readonly observer?: WebhookObserver;
  /** Default: HTTPS. */
  readonly listen?: Listen;
}

export class RunningWebhooks {
  readonly #parts: WebhooksParts;
  readonly #stop = new AbortController();
  readonly #answerer: Answerer;
  readonly #keeper: CertificateKeeper;
  readonly #registrar: Registrar;
  readonly #listener: WebhookListener;
  #registering: Promise<void> = Promise.resolve();
  #refused: string | undefined;

  private constructor(parts: WebhooksParts, answerer: Answerer, listener: WebhookListener) {
    const { client, clock, log, name, webhooks, converted, options } = parts;
    this.#parts = parts;
    this.#answerer = answerer;
    this.#listener = listener;
    const { signal } = this.#stop;
    this.#registrar = new Registrar({ client, clock, log, name, webhooks, converted, signal });
    this.#keeper = new CertificateKeeper({
      ...{ client, clock, log, signal },
      mode: options.url !== undefined ? "own" : options.certificates === "given" ? "given" : "shared",
      namespace: client.namespace,
      secret: options.secret ?? webhookServiceName(name),
      names: namesOf(parts),
      ...(options.lives ? { lives: options.lives } : {}),
      load: (certificates) => {
        listener.load(certificates);
        this.#publish(certificates["ca.crt"]);
      },
    });
  }

  static async start(parts: WebhooksParts): Promise<RunningWebhooks> {
    const { webhooks, converted, clock, log, observer, options } = parts;
    const answerer = new Answerer({ webhooks, converted, clock, log, ...(observer ? { observer } : {}) });
    const { port = 9443, host } = options;
    const listen = parts.listen ?? httpsListen({ port, clock, ...(host === undefined ? {} : { host }) });
    const listener = await listen((target, body, hangUp) => answerer.answer(target, body, hangUp));
    const running = new RunningWebhooks(parts, answerer, listener);
    running.#keeper.start();
    if (options.url === undefined && options.certificates !== "given") running.#registrar.start();
    log.info("webhooks are served", { port: listener.port });
    return running;
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Whether objects are converted here: caches may then depend on it. */
  get converts(): boolean {
    return this.#parts.converted.length > 0;
  }

  /** Why the API server gets no answer, or none that it believes; undefined when it does. */
  problem(): string | undefined {
    const { options } = this.#parts;
    const certificate = this.#keeper.problem() ?? this.#refused;
    if (certificate !== undefined) return `webhooks are not served: ${certificate}`;
    if (options.url !== undefined || options.certificates === "given") return undefined;
    const registration = this.#registrar.problem();
    return registration === undefined ? undefined : `webhooks are not served: ${registration}`;
  }

  /**
   * Answers go on for `lingerMs`: the API server hears of the end of a pod later than the pod itself. Then no new
   * connection is taken, and requests under way may end.
   */
  async stop(lingerMs: number): Promise<void> {
    const { clock } = this.#parts;
    if (lingerMs > 0) await new Promise<void>((resolve) => clock.timer(lingerMs, () => resolve()));
    await this.#registering;
    if (this.#parts.options.url !== undefined) await this.#unregister();
    this.#stop.abort();
    await this.#listener.close(closeMs);
    await this.#keeper.ended();
    await this.#registrar.ended();
  }

  /** Requests that wait for their answer. */
  get underWay(): number {
    return this.#answerer.underWay;
  }

  #publish(authorities: string): void {
    if (this.#parts.options.url === undefined) this.#registrar.publish(authorities);
    else {
      this.#registering = this.#registering
        .then(() => this.#register(authorities))
        .then(
          () => {
            this.#refused = undefined;
          },
          (error: Error) => {
            this.#refused = error.message;
            this.#parts.log.error("the webhooks could not be registered", { error });
          },
        );
    }
  }

  /** From outside the cluster there are no manifests: what leads here is made here. */
  async #register(authorities: string): Promise<void> {
    const { client, name, webhooks, converted, options } = this.#parts;
    const registered = { name, place: { url: options.url ?? "" }, authorities };
    for (const resource of converted) {
      await client.kind(CustomResourceDefinition).apply(convertedCrd(resource, registered), { force: true });
    }
    for (const configuration of webhookConfigurations(webhooks, registered)) {
      const kind =
        configuration.kind === ValidatingConfiguration.kind ? ValidatingConfiguration : MutatingConfiguration;
      await client.kind(kind).apply(configuration, { force: true });
    }
  }

  async #unregister(): Promise<void> {
    const { client, name, webhooks, converted, log } = this.#parts;
    try {
      for (const { kind } of webhookConfigurations(webhooks, { name, place: { url: "" } })) {
        const configuration =
          kind === ValidatingConfiguration.kind ? ValidatingConfiguration : MutatingConfiguration;
        await client.kind(configuration).delete({ name });
      }
      for (const resource of converted) {
        await client.kind(CustomResourceDefinition).apply(resource.crd(), { force: true });
      }
    } catch (error) {
      log.error("the webhooks are still registered: delete their configurations", { name, error });
    }
  }
}

/** Requests under way at the end have this long. */
const closeMs = 5_000;

function namesOf({ options, client, name }: WebhooksParts): string[] {
  if (options.url !== undefined) return [new URL(options.url).hostname.replace(/^\[|\]$/g, "")];
  const service = `${webhookServiceName(name)}.${client.namespace}`;
  return [`${service}.svc`, `${service}.svc.cluster.local`, service];
}
