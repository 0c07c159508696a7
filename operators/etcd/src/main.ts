/** Runs the etcd operator. */
import { operator } from "keelson";
import { etcdCluster } from "./reconcile.ts";

await operator({ name: "etcd-operator", controllers: [etcdCluster()] }).run();
