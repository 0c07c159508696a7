/** What `npm run explore -- --operator etcd` plays. */
import type { Subject } from "@keelson/testing";
import type { SimEtcd } from "../simulation/etcd.ts";
import { etcdSubject } from "./subject.ts";

export const subject: Subject<SimEtcd> = etcdSubject();
