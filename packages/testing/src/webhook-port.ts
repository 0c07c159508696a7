/**
 * Webhooks without sockets: the API server's question goes to a manager in the same process. What TLS would refuse is
 * refused all the same: a name that is not in the certificate, an authority that the server was not told, a certificate
 * whose time is over.
 */
import { X509Certificate } from "node:crypto";
import type { ApiServerOptions } from "@keelson/apiserver";
import { pemBlocks } from "@keelson/pki";
import type { Answer, Certificates, Listen, WebhookAnswer } from "@keelson/runtime/internal";
import type { ProcessLife } from "./process-life.ts";
import type { VirtualClock } from "./virtual-clock.ts";

type CallWebhook = NonNullable<ApiServerOptions["callWebhook"]>;

/** Where one manager is asked. */
export class WebhookPort {
  readonly #life: Pick<ProcessLife, "alive" | "paused">;
  readonly #died = Promise.withResolvers<never>();
  #answer: Answer | undefined;
  #certificates: Certificates | undefined;

  constructor(life: Pick<ProcessLife, "alive" | "paused">) {
    this.#life = life;
    this.#died.promise.catch(() => {});
  }

  readonly listen: Listen = async (answer) => {
    this.#answer = answer;
    return {
      port: 9443,
      load: (certificates) => {
        this.#certificates = certificates;
      },
      close: async () => {
        this.#answer = undefined;
      },
    };
  };

  get isOpen(): boolean {
    return this.#life.alive && this.#answer !== undefined;
  }

  /** As a server would see it: a refused connection, a failed handshake, a connection that breaks, or an answer. */
  async ask(host: string, target: string, body: string, trust: Trust): Promise<WebhookAnswer> {
    if (!this.isOpen || !this.#answer) throw new Error("connect ECONNREFUSED");
    const problem = handshakeProblem(this.#certificates, host, trust);
    if (problem !== undefined) throw new Error(problem);
    // A process that is held takes the connection and says nothing.
    if (this.#life.paused) return await this.#died.promise;
    return await Promise.race([this.#answer(target, body), this.#died.promise]);
  }

  /** The process is gone: who waits for an answer sees the connection break. */
  die(): void {
    this.#died.reject(new Error("socket hang up"));
  }
}

/** What a server believes, and what time it is there. */
interface Trust {
  readonly authorities: string | undefined;
  readonly nowMs: number;
}

function handshakeProblem(
  certificates: Certificates | undefined,
  host: string,
  { authorities, nowMs }: Trust,
): string | undefined {
  if (!certificates) return "tls: the server has no certificate";
  const leaf = new X509Certificate(certificates["tls.crt"]);
  if (leaf.checkHost(host) === undefined) return `x509: certificate is not valid for ${host}`;
  if (nowMs < leaf.validFromDate.getTime() || nowMs > leaf.validToDate.getTime()) {
    return "x509: certificate has expired or is not yet valid";
  }
  const signers = [...pemBlocks(authorities ?? "")].map(({ text }) => new X509Certificate(text));
  const signer = signers.find((each) => nowMs <= each.validToDate.getTime() && leaf.verify(each.publicKey));
  return signer ? undefined : "x509: certificate signed by unknown authority";
}

/** Managers as the API server's webhooks: those that are open, in turn. */
export class WebhookCalls {
  readonly #ports: () => readonly WebhookPort[];
  readonly #clock: VirtualClock;
  #turn = 0;
  /** Questions that wait for their answer; who asked them waits too, and time may pass meanwhile. */
  underWay = 0;

  constructor(ports: () => readonly WebhookPort[], clock: VirtualClock) {
    this.#ports = ports;
    this.#clock = clock;
  }

  readonly call: CallWebhook = async ({ url, authorities }, body, signal) => {
    const open = this.#ports().filter(({ isOpen }) => isOpen);
    const port = open[this.#turn++ % Math.max(1, open.length)];
    if (!port) throw new Error("connect ECONNREFUSED: no manager is there");
    const { hostname, pathname, search } = new URL(url);
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason ?? new Error("aborted")), { once: true });
    });
    aborted.catch(() => {});
    this.underWay++;
    this.#clock.touch();
    try {
      const trust = { authorities, nowMs: this.#clock.now() };
      return await Promise.race([port.ask(hostname, `${pathname}${search}`, body, trust), aborted]);
    } finally {
      this.underWay--;
      this.#clock.touch();
    }
  };
}
