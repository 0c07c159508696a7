/** Bootstrap tokens: Secrets in kube-system by which a new node, which has no identity yet, asks for one. */
import { timingSafeEqual } from "node:crypto";
import { type Clock, CoreError, parseTime } from "@keelson/core";
import type { Secret } from "@keelson/core/kinds";
import type { Authenticator, UserInfo } from "../contracts/authentication.ts";
import type { StoreReader } from "../contracts/store.ts";
import { bearerToken } from "../messages/bearer.ts";

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const everyBootstrapper = "system:bootstrappers";
const secretType = "bootstrap.kubernetes.io/token";

export function bootstrapTokens(store: StoreReader, clock: Clock): Authenticator {
  return {
    authenticate({ headers }) {
      const match = tokenForm.exec(bearerToken(headers) ?? "");
      if (!match) return undefined;
      const [, id = "", secret = ""] = match;
      const stored = store.get({ group: "", resource: "secrets" }, "kube-system", `bootstrap-token-${id}`);
      return stored && userOf(stored as unknown as Secret, id, secret, clock.now());
    },
  };
}

/** Undefined for a token that is not, or no longer, good for authentication. */
function userOf({ metadata, type, data = {} }: Secret, id: string, given: string, nowMs: number) {
  const value = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
  if (type !== secretType || metadata?.deletionTimestamp) return undefined;
  if (!isSame(value("token-secret"), given) || value("token-id") !== id) return undefined;
  if (hasExpired(value("expiration"), nowMs)) return undefined;
  if (value("usage-bootstrap-authentication") !== "true") return undefined;
  const extra = value("auth-extra-groups");
  const groups = extra === "" ? [] : extra.split(",");
  if (!groups.every((group) => groupForm.test(group))) return undefined;
  return {
    name: `system:bootstrap:${id}`,
    groups: [...new Set([everyBootstrapper, ...groups])].sort(),
  } satisfies UserInfo;
}

function isSame(stored: string, given: string): boolean {
  const [a, b] = [Buffer.from(stored), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** What cannot be read is over. */
function hasExpired(expiration: string, nowMs: number): boolean {
  if (expiration === "") return false;
  try {
    return parseTime(expiration) <= nowMs;
  } catch (error) {
    if (error instanceof CoreError) return true;
    throw error;
  }
}
