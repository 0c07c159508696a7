/** The flags of kube-apiserver that this server has: what it does not know must not look as if it were done. */
import { CoreError, parseDuration } from "@keelson/core";
import { FlagError, listOf } from "../contracts/flags.ts";
import { parseRange } from "../validation/checks/addresses.ts";

type Check = (value: string) => boolean;

const any: Check = () => true;
const wholeNumber: Check = (value) => /^-?\d+$/.test(value);
const ranges: Check = (value) => {
  const list = listOf(value);
  return list.length > 0 && list.every((range) => parseRange(range) !== undefined);
};
const duration: Check = (value) => {
  try {
    parseDuration(value);
    return true;
  } catch (error) {
    if (error instanceof CoreError) return false;
    throw error;
  }
};

const known: ReadonlyMap<string, Check> = new Map([
  ["api-audiences", any],
  ["authorization-mode", any],
  ["client-ca-file", any],
  ["default-not-ready-toleration-seconds", wholeNumber],
  ["default-unreachable-toleration-seconds", wholeNumber],
  ["disable-admission-plugins", any],
  ["enable-admission-plugins", any],
  ["event-ttl", duration],
  ["enable-bootstrap-token-auth", (value) => value === "true" || value === "false"],
  ["service-account-issuer", any],
  ["service-account-jwks-uri", any],
  ["service-account-key-file", any],
  ["service-account-max-token-expiration", duration],
  ["service-account-signing-key-file", any],
  ["service-cluster-ip-range", ranges],
  ["service-node-port-range", (value) => /^\d+-\d+$/.test(value)],
  ["token-auth-file", any],
]);

export type Flags = Readonly<Record<string, string | undefined>>;

/** Throws a FlagError for the first flag that is unknown or whose value cannot be read. */
export function checkFlags(flags: Flags): Flags {
  for (const [name, value] of Object.entries(flags)) {
    const check = known.get(name);
    if (!check) throw new FlagError(`unknown flag: --${name}`);
    if (value !== undefined && !check(value))
      throw new FlagError(`invalid argument ${JSON.stringify(value)} for "--${name}"`);
  }
  return flags;
}

/** Whether every request is allowed, so that it must at least be known whose it is. */
export function allowsAll(flags: Flags): boolean {
  return listOf(flags["authorization-mode"]).includes("AlwaysAllow");
}
