/** Secrets: what applications bind to, the users of Redis, and passwords that only servers and the operator know. */
import type { Desired } from "keelson";
import type { Secret } from "keelson/kinds";
import { redisPort } from "../engine/redis.ts";
import { adoptable, type DatabaseName, objectNames, selectorLabels, serviceHost } from "./names.ts";

type SecretBody = Desired<typeof Secret>;

function encoded(data: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
}

export function decoded(
  secret: { readonly data?: Readonly<Record<string, string>> } | undefined,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secret?.data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}

export function plainSecret(
  database: DatabaseName,
  name: string,
  data: Readonly<Record<string, string>>,
): SecretBody {
  return { metadata: { name, labels: selectorLabels(database) }, type: "Opaque", data: encoded(data) };
}

export const bindingType = "servicebinding.io/redis";

export interface BindingOptions {
  readonly password: string;
  /** The authority that clients trust, when they speak TLS. */
  readonly authority?: string | undefined;
}

/** As servicebinding.io defines it: an application needs nothing else, and no access to the Kubernetes API. */
export function bindingSecret(database: DatabaseName, { password, authority }: BindingOptions): SecretBody {
  const host = serviceHost(database, objectNames(database).writes);
  const scheme = authority === undefined ? "redis" : "rediss";
  return {
    metadata: {
      name: objectNames(database).binding,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    type: bindingType,
    data: encoded({
      type: "redis",
      provider: "keelson",
      host,
      port: String(redisPort),
      username: "default",
      password,
      "host-read": serviceHost(database, objectNames(database).reads),
      uri: `${scheme}://default:${encodeURIComponent(password)}@${host}:${redisPort}`,
      ...(authority === undefined ? {} : { "ca.crt": authority }),
    }),
  };
}
