/** The users of Redis as lines of an ACL file. Passwords appear as digests only. Pure. */
import type { Spec } from "../api/sampledb.ts";
import { systemUsers } from "./settings.ts";

/** SHA-256 of passwords in hexadecimal, by user; all of them are valid. */
export type Digests = Readonly<Record<string, readonly string[]>>;

const rules: Readonly<Record<string, string>> = {
  [systemUsers.operator]: "~* &* +@all",
  [systemUsers.replica]: "+psync +replconf +ping",
  [systemUsers.backup]: "~* +ping +info +dbsize +sync +psync +replconf +config|get +wait +role +acl|whoami",
};

/**
 * Everything that applications do; what could take the database away from the operator stays out. CONFIG GET tells the
 * password with which replicas log in, which outlives those of applications.
 */
const defaultRules =
  "~* &* +@all -@admin -debug -failover -replicaof -slaveof -shutdown -config -acl -client|kill -client|pause -client|unpause -module +info +client|list +slowlog +latency";

export function aclLines(spec: Spec, digests: Digests): string[] {
  const secrets = (user: string) => (digests[user] ?? []).map((digest) => `#${digest}`).join(" ");
  return [
    ...Object.entries(rules).map(([name, allowed]) => line(name, secrets(name), allowed)),
    line(systemUsers.health, "nopass", "+ping"),
    line("default", secrets("default"), defaultRules),
    ...spec.users.map((user) => line(user.name, secrets(user.name), user.rules)),
  ];
}

/** A user without a password cannot log in: `on` would let anyone in with none at all only by `nopass`. */
function line(name: string, passwords: string, allowed: string): string {
  return ["user", name, passwords === "" ? "off" : "on", passwords, "resetchannels", "-@all", allowed]
    .filter((word) => word !== "")
    .join(" ");
}

export function userOf(aclLine: string): string {
  return aclLine.split(" ")[1] ?? "";
}
