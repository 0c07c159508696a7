/** Root's password, from the Secret that the spec names. */

import { hash } from "node:crypto";
import { secretText } from "@keelson/kit";
import { Secret } from "keelson/kinds";
import type { EtcdClusterObject } from "../api/cluster.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import type { Passwords } from "./ask.ts";

/** Tokens that etcd issued for passwords, kept from pass to pass: checking a password costs a member 100 ms. */
export type Sessions = Map<string, { token?: string }>;

export async function readPasswords(
  { spec, metadata }: EtcdClusterObject,
  ctx: EtcdContext,
  sessions: Sessions,
): Promise<{ readonly passwords?: Passwords; readonly problem?: string }> {
  if (!spec.auth) return {};
  const { rootSecret: name } = spec.auth;
  const { namespace = "default", uid } = metadata;
  const secret = await ctx.client.kind(Secret).find({ namespace, name });
  const password = secretText(secret, "password")?.trim();
  if (!secret) return { problem: `spec.auth names the Secret ${name}, which does not exist` };
  if (!password) return { problem: `the Secret ${name} of spec.auth needs the key password` };
  const session = (text: string) => {
    const key = `${uid}/${hash("sha256", text)}`;
    const known = sessions.get(key) ?? {};
    sessions.set(key, known);
    return { user: "root", password: text, session: known };
  };
  const previous = secretText(secret, "previousPassword")?.trim();
  return { passwords: { current: session(password), ...(previous ? { previous: session(previous) } : {}) } };
}
