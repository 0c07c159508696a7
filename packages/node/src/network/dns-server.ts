/** The cluster's name server, over UDP and TCP. */
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server } from "node:net";
import type { Random } from "@keelson/core";
import {
  type DnsAnswer,
  type DnsQuestion,
  encodeAnswer,
  parseQuestion,
  responseCode,
} from "./dns-message.ts";
import { type NameServer, resolveName } from "./dns-records.ts";
import { listen } from "./relay.ts";

export interface DnsServerOptions extends NameServer {
  readonly address: string;
  readonly port?: number;
  readonly random: Random;
}

const largestTcpMessage = 65_535;
const internet = 1;

export class DnsServer {
  readonly #options: DnsServerOptions;
  readonly #udp: UdpSocket;
  readonly #tcp: Server;

  private constructor(options: DnsServerOptions) {
    this.#options = options;
    this.#udp = createSocket("udp4", (message, peer) => {
      const answer = this.#answer(message, (question) => question.payloadSize);
      if (answer !== undefined) this.#udp.send(answer, peer.port, peer.address);
    });
    this.#udp.on("error", () => undefined);
    this.#tcp = createServer((socket) => {
      let waiting = Buffer.alloc(0);
      socket.on("error", () => undefined);
      socket.on("data", (chunk: Buffer) => {
        waiting = Buffer.concat([waiting, chunk]);
        while (waiting.length >= 2 && waiting.length >= 2 + waiting.readUInt16BE(0)) {
          const end = 2 + waiting.readUInt16BE(0);
          const answer = this.#answer(waiting.subarray(2, end), () => largestTcpMessage);
          waiting = waiting.subarray(end);
          if (answer === undefined) return void socket.destroy();
          const length = Buffer.alloc(2);
          length.writeUInt16BE(answer.length);
          socket.write(Buffer.concat([length, answer]));
        }
      });
    });
  }

  static async start(options: DnsServerOptions): Promise<DnsServer> {
    const port = options.port ?? 53;
    for (;;) {
      const server = new DnsServer(options);
      try {
        await server.#listen(port);
        return server;
      } catch (error) {
        await server.close();
        // Port 0 is one that is free for UDP; a connection of anyone may have it for TCP.
        const { code } = error as NodeJS.ErrnoException;
        if (port !== 0 || code !== "EADDRINUSE") throw error;
      }
    }
  }

  async #listen(port: number): Promise<void> {
    const host = this.#options.address;
    await new Promise<void>((resolve, reject) => {
      this.#udp.once("error", reject);
      this.#udp.bind(port, host, resolve);
    });
    await listen(this.#tcp, { host, port: this.port });
  }

  get port(): number {
    return this.#udp.address().port;
  }

  async close(): Promise<void> {
    await Promise.all([
      new Promise<void>((resolve) => this.#udp.close(resolve)),
      new Promise<void>((resolve) => this.#tcp.close(() => resolve())),
    ]);
  }

  #answer(message: Buffer, limit: (question: DnsQuestion) => number): Buffer | undefined {
    const question = parseQuestion(message);
    if (question === undefined) return undefined;
    return encodeAnswer(question, this.#resolve(question), limit(question));
  }

  #resolve(question: DnsQuestion): DnsAnswer {
    if (question.opcode !== 0) return { code: responseCode.notImplemented, answers: [] };
    if (question.class !== internet) return { code: responseCode.refused, answers: [] };
    const found = resolveName(this.#options, question.name, question.type);
    // The cluster's network ends at the machine: a name from beyond could not be reached anyway.
    if (found === undefined) return { code: responseCode.nameError, answers: [] };
    return { ...found, answers: this.#rotate(found.answers) };
  }

  /** Clients take the first address: let it be another one each time. Aliases stay in front. */
  #rotate<T extends { readonly data: { readonly type: string } }>(answers: readonly T[]): T[] {
    const aliases = answers.filter(({ data }) => data.type === "CNAME");
    const rest = answers.filter(({ data }) => data.type !== "CNAME");
    const start = Math.floor(this.#options.random.next() * rest.length);
    return [...aliases, ...rest.slice(start), ...rest.slice(0, start)];
  }
}
