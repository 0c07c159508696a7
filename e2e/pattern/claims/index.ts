/** All claims, by the description that makes them. */
import type { Description } from "../claim.ts";
import { automationClaims } from "./automations.ts";
import { databaseClaims } from "./database.ts";
import { etcdClaims } from "./etcd.ts";
import { memcachedClaims } from "./memcached.ts";
import { sampledbClaims } from "./sampledb.ts";

export const descriptions: readonly Description[] = [
  {
    id: "sampledb",
    title: "SampleDB",
    source: "the example of the Kubernetes documentation's page “Operator pattern”",
    claims: sampledbClaims,
  },
  {
    id: "auto",
    title: "Six automations",
    source: "what that page says operators can automate, all shown on a SampleDB",
    claims: automationClaims,
  },
  { id: "etcd", title: "etcd", source: "what descriptions of etcd operators promise", claims: etcdClaims },
  {
    id: "memcached",
    title: "Memcached",
    source: "the operator that tutorials begin with",
    claims: memcachedClaims,
  },
  {
    id: "database",
    title: "PostgreSQL",
    source: "what descriptions of PostgreSQL operators promise",
    claims: databaseClaims,
  },
];
