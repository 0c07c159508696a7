/** etcd over its JSON gateway, which every version from 3.4 on serves beside gRPC on the same port. */

import type { IncomingMessage } from "node:http";
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { parseJson } from "keelson";
import { EtcdError, isEtcdError, refusal } from "./errors.ts";
import type {
  Alarm,
  Authentication,
  CallOptions,
  Etcd,
  EtcdAddress,
  EtcdMember,
  KeyHash,
  MemberId,
  MemberList,
  MemberProgress,
  MemberStatus,
  Versions,
} from "./etcd.ts";
import { callGrpc, grpcUnary } from "./grpc.ts";
import { progressIn } from "./progress.ts";
import { encodeNumber, type Fields, fieldsOf } from "./protobuf.ts";

/** A member that works on a large file takes so long, and answers pings all the while. */
const longMs = 120_000;

/** Numbers of 64 bits arrive as strings, and zero does not arrive at all. */
type Json = { readonly [key: string]: unknown };

export class EtcdGateway implements Etcd {
  readonly #address: EtcdAddress;
  readonly #session: { token?: string };
  #version: string | undefined;

  constructor(address: EtcdAddress) {
    this.#address = address;
    this.#session = address.credentials?.session ?? {};
  }

  async status(options?: CallOptions): Promise<MemberStatus> {
    const body = await this.#call("/v3/maintenance/status", {}, options);
    const header = object(body["header"]);
    const leader = text(body["leader"]);
    this.#version = text(body["version"]);
    return {
      clusterId: text(header["cluster_id"]),
      memberId: text(header["member_id"]),
      version: text(body["version"]),
      revision: big(header["revision"]),
      raftTerm: big(body["raftTerm"]),
      raftIndex: big(body["raftIndex"]),
      appliedIndex: big(body["raftAppliedIndex"]),
      leader: leader === "" || leader === "0" ? undefined : leader,
      learner: body["isLearner"] === true,
      dbSizeBytes: big(body["dbSize"]),
      dbSizeInUseBytes: big(body["dbSizeInUse"]),
      errors: Array.isArray(body["errors"]) ? body["errors"].map(String) : [],
    };
  }

  async progress(options: CallOptions = {}): Promise<MemberProgress> {
    const path = "/metrics";
    const response = await this.#send(path, undefined, withDeadline({ timeoutMs: 5_000, ...options }));
    const progress = progressIn(await this.#text(response, path));
    if (!progress) throw new EtcdError("Refused", "these are not the metrics of a member");
    return progress;
  }

  async versions(options?: CallOptions): Promise<Versions> {
    const body = await this.#call("/version", undefined, options);
    return { server: text(body["etcdserver"]), cluster: text(body["etcdcluster"]) };
  }

  async members(options?: CallOptions): Promise<MemberList> {
    // 3.4 answers from what it has; a linearizable read first brings it up to date.
    if (await this.#is34(options)) {
      await this.get("keelson.dev/read", options).catch((error: unknown) => {
        // While its data may be corrupt it refuses reads, but it has caught up by then.
        if (!isEtcdError(error, "Corrupt")) throw error;
      });
    }
    return memberList(await this.#call("/v3/cluster/member/list", { linearizable: true }, options));
  }

  async localMembers(options?: CallOptions): Promise<MemberList> {
    return memberList(await this.#call("/v3/cluster/member/list", { linearizable: false }, options));
  }

  async addLearner(
    peerUrls: readonly string[],
    options?: CallOptions,
  ): Promise<MemberList & { readonly added: EtcdMember }> {
    const body = await this.#call("/v3/cluster/member/add", { peerURLs: peerUrls, isLearner: true }, options);
    return { ...memberList(body), added: member(object(body["member"])) };
  }

  async promote(id: MemberId, options?: CallOptions): Promise<void> {
    await this.#call("/v3/cluster/member/promote", { ID: id }, options);
  }

  async remove(id: MemberId, options?: CallOptions): Promise<void> {
    try {
      await this.#call("/v3/cluster/member/remove", { ID: id }, options);
    } catch (error) {
      if (!(error instanceof EtcdError && error.code === "MemberNotFound")) throw error;
    }
  }

  async updatePeerUrls(id: MemberId, peerUrls: readonly string[], options?: CallOptions): Promise<void> {
    await this.#call("/v3/cluster/member/update", { ID: id, peerURLs: peerUrls }, options);
  }

  async moveLeader(to: MemberId, options?: CallOptions): Promise<void> {
    await this.#call("/v3/maintenance/transfer-leadership", { targetID: to }, options);
  }

  async alarms(options?: CallOptions): Promise<readonly Alarm[]> {
    const body = await this.#call("/v3/maintenance/alarm", { action: "GET" }, options);
    return list(body["alarms"]).map((alarm) => ({
      // Zero when etcd cannot say whose data is wrong.
      memberId: text(alarm["memberID"]) || "0",
      type: alarm["alarm"] === "CORRUPT" ? "CORRUPT" : "NOSPACE",
    }));
  }

  async disarm(alarm: Alarm, options?: CallOptions): Promise<void> {
    const { memberId, type } = alarm;
    await this.#call(
      "/v3/maintenance/alarm",
      { action: "DEACTIVATE", memberID: memberId, alarm: type },
      options,
    );
  }

  async defragment(options?: CallOptions): Promise<void> {
    await this.#grpc("/etcdserverpb.Maintenance/Defragment", Buffer.alloc(0), options);
  }

  async hashKv(revision: bigint, options?: CallOptions): Promise<KeyHash> {
    // Not through the gateway: that of 3.4 answers with a hash of the whole file, which no two members share.
    const request = encodeNumber(1, revision);
    const { numbers, bytes } = await this.#grpc("/etcdserverpb.Maintenance/HashKV", request, options);
    const header = fieldsOf(bytes.get(1) ?? Buffer.alloc(0));
    return {
      hash: String(numbers.get(2) ?? 0n),
      compactRevision: numbers.get(3) ?? 0n,
      revision: header.numbers.get(3) ?? 0n,
    };
  }

  async get(key: string, options?: CallOptions) {
    const body = await this.#call("/v3/kv/range", { key: base64(key) }, options);
    const [found] = list(body["kvs"]);
    const value = found ? Buffer.from(text(found["value"]), "base64").toString() : undefined;
    return { value, revision: big(object(body["header"])["revision"]) };
  }

  async put(key: string, value: string, options?: CallOptions): Promise<{ readonly revision: bigint }> {
    const body = await this.#call("/v3/kv/put", { key: base64(key), value: base64(value) }, options);
    return { revision: big(object(body["header"])["revision"]) };
  }

  async count(options?: CallOptions): Promise<number> {
    const everything = { key: base64("\0"), range_end: base64("\0"), count_only: true };
    const body = await this.#call("/v3/kv/range", everything, options);
    return Number(big(body["count"]));
  }

  async compact(revision: bigint, options?: CallOptions): Promise<void> {
    const physical = encodeNumber(2, 1n);
    await this.#grpc(
      "/etcdserverpb.KV/Compact",
      Buffer.concat([encodeNumber(1, revision), physical]),
      options,
    );
  }

  async *snapshot(options?: CallOptions): AsyncIterable<Uint8Array> {
    // A stream cannot be restarted: a token that is needed was fetched before.
    await this.get("keelson.dev/read", options);
    const { token } = this.#session;
    const call = { path: "/etcdserverpb.Maintenance/Snapshot", request: Buffer.alloc(0), token };
    for await (const message of callGrpc(this.#address, call, options)) {
      const blob = fieldsOf(message).bytes.get(3);
      if (blob) yield blob;
    }
  }

  async authentication(options?: CallOptions): Promise<Authentication> {
    try {
      await this.#authenticate(options ?? {});
      return "in";
    } catch (error) {
      if (!isEtcdError(error, "Unauthenticated")) throw error;
      return /not enabled/.test(error.message) ? "off" : "out";
    }
  }

  async enableAuthentication(options?: CallOptions): Promise<void> {
    const { user = "root", password = "" } = this.#address.credentials ?? {};
    const exists = /already exists/;
    await this.#call("/v3/auth/user/add", { name: user, password }, options).catch(async (error: unknown) => {
      if (!(error instanceof EtcdError && exists.test(error.message))) throw error;
      await this.#call("/v3/auth/user/changepw", { name: user, password }, options);
    });
    await this.#call("/v3/auth/role/add", { name: "root" }, options).catch((error: unknown) => {
      if (!(error instanceof EtcdError && exists.test(error.message))) throw error;
    });
    await this.#call("/v3/auth/user/grant", { user, role: "root" }, options);
    await this.#call("/v3/auth/enable", {}, options);
  }

  async changePassword(password: string, options?: CallOptions): Promise<void> {
    const { user = "root" } = this.#address.credentials ?? {};
    await this.#call("/v3/auth/user/changepw", { name: user, password }, options);
    delete this.#session.token;
  }

  async #is34(options?: CallOptions): Promise<boolean> {
    const version = this.#version ?? (await this.status(options)).version;
    return version.startsWith("3.4.");
  }

  /** For what may take minutes: a member that is gone is noticed all the same. */
  async #grpc(path: string, request: Buffer, options?: CallOptions): Promise<Fields> {
    return await this.#authenticated(
      async (token) =>
        await grpcUnary(this.#address, { path, request, token }, { timeoutMs: longMs, ...options }),
      options,
    );
  }

  /** POST with a body, GET without. */
  async #call(path: string, body: Json | undefined, options: CallOptions = {}): Promise<Json> {
    const response = await this.#send(path, body, withDeadline({ timeoutMs: 5_000, ...options }));
    const received = await this.#text(response, path);
    return received === "" ? {} : (parseJson(received) as Json);
  }

  /** The deadline also ends an answer that stops half way. */
  async #text(response: IncomingMessage, path: string): Promise<string> {
    let received = "";
    try {
      for await (const chunk of response.setEncoding("utf8")) received += chunk;
    } catch (cause) {
      throw this.#unreachable(path, cause as Error);
    }
    return received;
  }

  #unreachable(path: string, cause: Error): EtcdError {
    const { host, port } = this.#address;
    return new EtcdError(
      "Unreachable",
      `no answer from etcd at ${host}:${port} to ${path}: ${cause.message}`,
      { cause },
    );
  }

  async #send(path: string, body: Json | undefined, options: CallOptions): Promise<IncomingMessage> {
    return await this.#authenticated(async () => {
      const response = await this.#exchange(path, body, options);
      if (response.statusCode === 200) return response;
      throw refusal(path, await reason(response));
    }, options);
  }

  /** Only when etcd asks for it: a member without quorum answers its own status, but authenticates no client. */
  async #authenticated<T>(
    work: (token: string | undefined) => Promise<T>,
    options: CallOptions = {},
  ): Promise<T> {
    try {
      return await work(this.#session.token);
    } catch (error) {
      if (!isEtcdError(error, "Unauthenticated") || !this.#address.credentials) throw error;
      await this.#authenticate(options);
      return await work(this.#session.token);
    }
  }

  async #authenticate(options: CallOptions): Promise<void> {
    const { credentials } = this.#address;
    const path = "/v3/auth/authenticate";
    delete this.#session.token;
    const body = { name: credentials?.user ?? "root", password: credentials?.password ?? "-" };
    const response = await this.#exchange(path, body, withDeadline({ timeoutMs: 5_000, ...options }));
    if (response.statusCode !== 200) throw refusal(path, await reason(response));
    const token = await reason(response, (parsed) => text(parsed["token"]));
    this.#session.token = token;
  }

  #exchange(path: string, body: Json | undefined, options: CallOptions): Promise<IncomingMessage> {
    const { host, port, tls } = this.#address;
    const payload = body === undefined ? "" : JSON.stringify(body);
    const headers = {
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
      ...(this.#session.token ? { authorization: this.#session.token } : {}),
    };
    const common = {
      host,
      port,
      path,
      method: body === undefined ? "GET" : "POST",
      headers,
      agent: false,
      ...(options.signal ? { signal: options.signal } : {}),
    };
    return new Promise((resolve, reject) => {
      const request = tls
        ? secureRequest({ ...common, ca: tls.ca, cert: tls.cert, key: tls.key, servername: tls.serverName })
        : plainRequest(common);
      request.once("response", resolve);
      request.once("error", (cause) => reject(this.#unreachable(path, cause)));
      request.end(payload);
    });
  }
}

/**
 * One deadline for connecting, the answer and its body. The timeout of a request in Node is armed only when its socket is
 * connected: a pod whose packets are dropped would hold a call for two minutes.
 */
function withDeadline({ timeoutMs, signal }: CallOptions): CallOptions {
  if (timeoutMs === undefined) return signal ? { signal } : {};
  const deadline = AbortSignal.timeout(timeoutMs);
  return { signal: signal ? AbortSignal.any([signal, deadline]) : deadline };
}

async function reason(response: IncomingMessage, pick?: (parsed: Json) => string): Promise<string> {
  let received = "";
  for await (const chunk of response.setEncoding("utf8")) received += chunk;
  try {
    const parsed = parseJson(received) as Json;
    return pick ? pick(parsed) : text(parsed["message"]) || text(parsed["error"]);
  } catch {
    return received.trim() || `HTTP ${response.statusCode}`;
  }
}

function memberList(body: Json): MemberList {
  return {
    clusterId: text(object(body["header"])["cluster_id"]),
    members: list(body["members"]).map(member),
  };
}

function member(raw: Json): EtcdMember {
  return {
    id: text(raw["ID"]),
    name: text(raw["name"]),
    peerUrls: strings(raw["peerURLs"]),
    clientUrls: strings(raw["clientURLs"]),
    learner: raw["isLearner"] === true,
  };
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function text(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

function big(value: unknown): bigint {
  return value === undefined || value === null ? 0n : BigInt(String(value));
}

function base64(value: string): string {
  return Buffer.from(value).toString("base64");
}
