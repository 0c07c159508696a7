/** What goes over the wire to etcd, and what happens when nothing comes back. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { EtcdGateway } from "./gateway.ts";
import { callGrpc, grpcUnary } from "./grpc.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text === "" ? undefined : JSON.parse(text);
}

/** A gateway that remembers what it is asked. */
async function recorded(answer: object = {}): Promise<{ etcd: EtcdGateway; asked: [string, unknown][] }> {
  const asked: [string, unknown][] = [];
  const port = await listening(
    createServer(async (request, response) => {
      asked.push([request.url ?? "", await bodyOf(request)]);
      response.end(JSON.stringify(answer));
    }),
  );
  return { etcd: new EtcdGateway({ host: "127.0.0.1", port }), asked };
}

describe("a change of membership", () => {
  const member = { ID: "7", name: "", peerURLs: ["http://a:2380"], isLearner: true };

  test("adds a learner, never a voter", async () => {
    const { etcd, asked } = await recorded({ header: { cluster_id: "1" }, member, members: [member] });
    const { added } = await etcd.addLearner(["http://a:2380"]);
    expect(asked).toEqual([["/v3/cluster/member/add", { peerURLs: ["http://a:2380"], isLearner: true }]]);
    expect(added).toMatchObject({ id: "7", learner: true });
  });

  test("names members by their whole id", async () => {
    const { etcd, asked } = await recorded();
    const id = "18446744073709551615";
    await etcd.promote(id);
    await etcd.remove(id);
    await etcd.moveLeader(id);
    expect(asked).toEqual([
      ["/v3/cluster/member/promote", { ID: id }],
      ["/v3/cluster/member/remove", { ID: id }],
      ["/v3/maintenance/transfer-leadership", { targetID: id }],
    ]);
  });
});

test("an alarm about no member in particular is lifted like any other", async () => {
  const { etcd, asked } = await recorded({ alarms: [{ alarm: "CORRUPT" }] });
  for (const alarm of await etcd.alarms()) await etcd.disarm(alarm);
  expect(asked[1]).toEqual([
    "/v3/maintenance/alarm",
    { action: "DEACTIVATE", memberID: "0", alarm: "CORRUPT" },
  ]);
});

describe("the list of members", () => {
  test("comes from a quorum, or from one member when asked for that", async () => {
    const { etcd, asked } = await recorded({ version: "3.6.16" });
    await etcd.members();
    await etcd.localMembers();
    expect(asked.filter(([path]) => path.endsWith("/list"))).toEqual([
      ["/v3/cluster/member/list", { linearizable: true }],
      ["/v3/cluster/member/list", { linearizable: false }],
    ]);
  });
});

/** An address whose packets are dropped: the queue of a process that accepts nothing is full. */
async function blackhole(): Promise<number> {
  const program =
    'const s = require("net").createServer(); s.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => { console.log(s.address().port); process.kill(process.pid, "SIGSTOP"); });';
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  ends.push(() => child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(line.toString());
  const sockets: Socket[] = [];
  for (let i = 0; i < 4; i++) sockets.push(connect(port, "127.0.0.1").on("error", () => {}));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  // Two connections fill the queue; the others stay on the way.
  await Promise.all(sockets.slice(0, 2).map((socket) => socket.connecting && once(socket, "connect")));
  return port;
}

describe("a member that does not answer", () => {
  test("whose packets are dropped fails at the deadline, not when the kernel gives up", async () => {
    const port = await blackhole();
    const etcd = new EtcdGateway({ host: "127.0.0.1", port });
    await expect(etcd.status({ timeoutMs: 300 })).rejects.toMatchObject({ code: "Unreachable" });
  });

  test("that stops in the middle of its answer fails at the deadline", async () => {
    const port = await listening(
      createServer((_request, response) => {
        response.writeHead(200, { "content-length": 1_000 });
        response.write('{"version":');
      }),
    );
    const etcd = new EtcdGateway({ host: "127.0.0.1", port });
    await expect(etcd.status({ timeoutMs: 300 })).rejects.toMatchObject({ code: "Unreachable" });
  });

  /** Takes connections over HTTP/2, and says nothing to what is asked: with pings, all but those. */
  async function silentServer({ pings }: { readonly pings: boolean }): Promise<number> {
    const sockets = new Set<Socket>();
    const server = pings ? createHttp2Server() : createTcpServer((socket) => socket.resume().write(settings));
    server.on("connection", (socket: Socket) => sockets.add(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    ends.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  /** A frame of HTTP/2 with no settings: what a server says first. */
  const settings = Buffer.from("000000040000000000", "hex");
  const hashKv = { path: "/etcdserverpb.Maintenance/HashKV", request: Buffer.alloc(0) };
  const pulse = { everyMs: 20, withinMs: 200 };

  test("is noticed while it works on a call that may take minutes", async () => {
    const port = await silentServer({ pings: false });
    const call = grpcUnary({ host: "127.0.0.1", port }, hashKv, { timeoutMs: 120_000, pulse });
    await expect(call).rejects.toThrow(/no sign of life within 0.2 s/);
  });

  test("takes as long as it may while it answers pings", async () => {
    const port = await silentServer({ pings: true });
    const call = grpcUnary({ host: "127.0.0.1", port }, hashKv, { timeoutMs: 600, pulse });
    await expect(call).rejects.toThrow(/no answer in 600 ms/);
  });

  test("does not hold up a call over gRPC either", { timeout: 20_000 }, async () => {
    const port = await blackhole();
    const messages = callGrpc(
      { host: "127.0.0.1", port },
      { path: "/etcdserverpb.Maintenance/Snapshot", request: Buffer.alloc(0) },
    );
    const read = async () => {
      for await (const _ of messages) throw new Error("there is nobody to send one");
    };
    await expect(read()).rejects.toMatchObject({ code: "Unreachable" });
  });
});
