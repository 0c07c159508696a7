/** The etcd operator as a process that dies when it is told to, see `mortal.ts`. */
import { EtcdGateway, etcdCluster } from "@keelson/etcd-operator";
import { operator } from "keelson";
import { told, toldClient } from "./mortal.ts";

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

const code = await operator({
  name: "etcd-operator",
  client: await toldClient(),
  controllers: [etcdCluster({ dial: (address) => told(new EtcdGateway(address), { of: "etcd", changing }) })],
}).run();
// A client that was given is not closed, and would hold the process.
process.exit(code);
