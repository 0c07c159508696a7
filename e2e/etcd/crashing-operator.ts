/**
 * The operator, which tells of every change it makes to Kubernetes or etcd and, when it is told `7:before` or `7:after`,
 * dies with the seventh from then on as a power cut would end it.
 */
import { connect, createClient } from "@keelson/client";
import type { HttpPort } from "@keelson/core";
import { EtcdGateway, type EtcdOptions, etcdCluster } from "@keelson/etcd-operator";
import { operator } from "keelson";

let changes = 0;
let death = { at: 0, when: "before" };
process.on("message", (told) => {
  const [after, when = "before"] = String(told).split(":");
  death = { at: changes + Number(after), when };
});

async function change<T>(what: string, make: () => Promise<T>): Promise<T> {
  const mine = ++changes;
  process.send?.(`${mine} ${what}`);
  const { at, when } = death;
  if (mine === at && when === "before") process.kill(process.pid, "SIGKILL");
  const made = await make();
  if (mine === at && when === "after") process.kill(process.pid, "SIGKILL");
  return made;
}

const plain = await connect();
const { http, namespace, fieldManager, clock, random } = plain;
const port: HttpPort = {
  ...(http.upgrade && { upgrade: http.upgrade.bind(http) }),
  request: async (request) => {
    const { method, path } = request;
    // Events are told to people; nothing follows from them.
    const changing = method !== "GET" && !/\/(events|leases)\b/.test(path);
    const send = async () => await http.request(request);
    return changing ? await change(`${method} ${path.split("?")[0]}`, send) : await send();
  },
};

const changing: readonly (string | symbol)[] = [
  "addLearner",
  "promote",
  "remove",
  "updatePeerUrls",
  "moveLeader",
  "disarm",
  "defragment",
  "compact",
];

type Etcd = ReturnType<NonNullable<EtcdOptions["dial"]>>;

function told(etcd: Etcd): Etcd {
  return new Proxy(etcd, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const call = value.bind(target) as (...args: unknown[]) => unknown;
      if (!changing.includes(name)) return call;
      return async (...args: unknown[]) =>
        await change(`etcd ${String(name)}`, async () => await call(...args));
    },
  });
}

const code = await operator({
  name: "etcd-operator",
  client: createClient({ http: port, namespace, fieldManager, clock, random, onClose: () => plain.close() }),
  controllers: [etcdCluster({ dial: (address) => told(new EtcdGateway(address)) })],
}).run();
// A client that was given is not closed, and would hold the process.
process.exit(code);
