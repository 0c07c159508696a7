/** The operator's calls to simulated servers: over the simulated network, answered as Redis would. */
import { X509Certificate } from "node:crypto";
import { LineBroken, operatorName, type Simulation } from "@keelson/testing";
import type { Command, Credentials } from "../../src/engine/connection.ts";
import { RedisError } from "../../src/engine/errors.ts";
import type { ServerFacts } from "../../src/engine/info.ts";
import { type Dial, patienceMs, type Redis, redisPort } from "../../src/engine/redis.ts";
import type { Reply } from "../../src/engine/resp.ts";
import type { SimRedis, SimServer } from "./application.ts";
import { migrationsIn } from "./files.ts";

export function simulatedDial(simulation: () => Simulation<SimRedis>): Dial {
  return async ({ host, tls }, credentials) => {
    const client = new SimClient(simulation(), host, { trusts: tls?.ca, credentials });
    await client.call();
    return client;
  };
}

class SimClient implements Redis {
  fingerprint: string | undefined;
  readonly #simulation: Simulation<SimRedis>;
  readonly #caller: ReturnType<Simulation["caller"]>;
  /** A connection is to a process, not to a name. */
  #runId: string | undefined;
  readonly #trusts: string | undefined;
  readonly #credentials: Credentials;

  constructor(
    simulation: Simulation<SimRedis>,
    host: string,
    options: { readonly trusts: string | undefined; readonly credentials: Credentials },
  ) {
    this.#simulation = simulation;
    this.#trusts = options.trusts;
    this.#credentials = options.credentials;
    this.#caller = simulation.caller(host);
  }

  async facts(): Promise<ServerFacts> {
    return await this.#call("facts", false, factsOf);
  }

  async lead(): Promise<void> {
    await this.#call("lead", true, (server) => server.lead());
  }

  async follow(upstream: { readonly host: string; readonly port: number }): Promise<void> {
    await this.#call("follow", true, (server) => server.follow(upstream));
  }

  async settings(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return await this.#call(
      "settings",
      false,
      (server) => new Map(names.map((name) => [name, server.settings.get(name) ?? ""])),
    );
  }

  async set(settings: ReadonlyMap<string, string>): Promise<void> {
    await this.#call("set", true, (server) => {
      for (const [name, value] of settings) server.settings.set(name, value);
      if (settings.has("tls-cert-file")) server.readCertificate();
      server.replicaPassword = settings.get("masterauth") ?? server.replicaPassword;
    });
  }

  async users(): Promise<readonly string[]> {
    return await this.#call("users", false, ({ users }) => [...users]);
  }

  async setUser(line: string): Promise<void> {
    const [, user] = line.split(" ");
    await this.#call("setUser", true, (server) => {
      server.users = [...server.users.filter((each) => each.split(" ")[1] !== user), line];
    });
  }

  async removeUser(name: string): Promise<void> {
    await this.#call("removeUser", true, (server) => {
      server.users = server.users.filter((each) => each.split(" ")[1] !== name);
    });
  }

  async pauseWrites(forMs: number): Promise<void> {
    const { application } = this.#simulation;
    await this.#call("pauseWrites", true, (server) => {
      server.pausedUntilMs = application.now() + forMs;
    });
  }

  async resume(): Promise<void> {
    await this.#call("resume", true, (server) => {
      server.pausedUntilMs = 0;
    });
  }

  async dropClients(): Promise<void> {
    await this.#call("dropClients", true, () => undefined);
  }

  async call([name]: Command = ["PING"]): Promise<Reply> {
    if (name === "HKEYS")
      return await this.#call("migrations", false, ({ files }) =>
        migrationsIn(files).map((version) => `migration:${version}`),
      );
    await this.#call("ping", false, (server) => {
      if (!server.accepts(this.#trusts)) {
        if (server.certificate && this.#trusts !== undefined)
          throw new RedisError("Untrusted", `${server.name} is not trusted`);
        throw new LineBroken("ECONNRESET", `${server.name} speaks ${server.certificate ? "" : "no "}TLS`);
      }
      const { username, password } = this.#credentials;
      if (!server.allows(username, password))
        throw new RedisError("Denied", "WRONGPASS invalid username-password pair or user is disabled.");
      this.#runId = server.runId;
      this.fingerprint =
        server.certificate && new X509Certificate(server.certificate.certificate).fingerprint256;
    });
    return null;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #call<T>(method: string, write: boolean, work: (server: SimServer) => T): Promise<T> {
    const { to, life } = this.#caller;
    const { application, network } = this.#simulation;
    const line = { from: operatorName, to, life, method, write, timeoutMs: patienceMs };
    try {
      return await network.call(line, async () => await this.#answer(application, work));
    } catch (error) {
      if (!(error instanceof LineBroken)) throw error;
      throw new RedisError(error.code === "ECONNREFUSED" ? "Refused" : "Unreachable", error.message);
    }
  }

  async #answer<T>(application: SimRedis, work: (server: SimServer) => T): Promise<T> {
    const { to } = this.#caller;
    const server = application.server(to);
    if (!server && this.#isUnpowered(to)) return await this.#silence(application);
    if (!server) throw new LineBroken("ECONNREFUSED", `nothing listens at ${to}`);
    if (server.frozen) return await this.#silence(application);
    if (this.#runId !== undefined && server.runId !== this.#runId)
      throw new LineBroken("ECONNRESET", `${to} closed the connection`);
    application.settle();
    return work(server);
  }

  /** Nobody refuses where there is no power. */
  #isUnpowered(pod: string): boolean {
    const node = this.#simulation.kubelet.run(pod)?.node;
    return node !== undefined && this.#simulation.nodes.all.get(node)?.powered === false;
  }

  async #silence(application: SimRedis): Promise<never> {
    await new Promise<void>((resolve) => application.parts.clock.timer(patienceMs, resolve));
    throw new LineBroken("ETIMEDOUT", `no answer from ${this.#caller.to}`);
  }
}

function factsOf(server: SimServer): ServerFacts {
  const { version, runId, role, replicationId, secondReplicationId, secondOffset, offset, guard } = server;
  const nowMs = server.nowMs;
  return {
    ...{ version, runId, role, replicationId, secondReplicationId, secondOffset, offset, guard },
    loading: false,
    upstream: server.upstream,
    linkUp: server.linkUp,
    silentSeconds: server.linkUp ? Math.floor((nowMs - (server.heardMs ?? nowMs)) / 1_000) : undefined,
    syncing: false,
    replicas: server.replicas.map(({ server: each, atMs }) => ({
      host: each.address,
      port: redisPort,
      online: true,
      offset: each.offset,
      lagSeconds: Math.floor((nowMs - atMs) / 1_000),
    })),
    failingOver: false,
    volume: server.files.identity,
    keys: server.files.keys.size,
    rewriting: server.isRewriting,
    databases: server.databases,
    persistenceFailed: server.volume.full === true,
  };
}
