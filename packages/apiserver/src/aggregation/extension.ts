/** A server that extends this one: where it is, and how it is asked. */
import type { APIService, APIServiceSpec } from "@keelson/core/kinds";
import type { UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { StoreReader } from "../contracts/store.ts";
import { serviceDestination } from "../proxy/destinations.ts";
import type { Destination } from "../proxy/transport.ts";

/** The client certificate that extensions know this server by, in PEM. */
export interface FrontProxyIdentity {
  readonly certificate: string;
  readonly key: string;
}

/** An APIService that names a service. */
export interface Extension {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: Required<NonNullable<APIServiceSpec["service"]>>;
  /** PEM. */
  readonly authorities: string;
  readonly insecure: boolean;
}

/** `undefined` for what this server serves itself. */
export function extensionOf(object: ApiObject): Extension | undefined {
  const { metadata, spec } = object as unknown as APIService;
  if (!spec?.service) return undefined;
  const { namespace = "", name = "", port = 443 } = spec.service;
  return {
    name: metadata?.name ?? "",
    group: spec.group ?? "",
    version: spec.version ?? "",
    groupPriority: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
    service: { namespace, name, port },
    authorities: spec.caBundle ? Buffer.from(spec.caBundle, "base64").toString() : "",
    insecure: spec.insecureSkipTLSVerify === true,
  };
}

/** One of the pods behind the service. Throws 404 or 503 when there is none. */
export function extensionDestination(
  { service, authorities, insecure }: Extension,
  store: StoreReader,
  identity: FrontProxyIdentity | undefined,
  pick: (count: number) => number,
): Destination {
  const { namespace, name, port } = service;
  const { host, port: targetPort } = serviceDestination(store, namespace, `https:${name}:${port}`, {
    podsOnly: false,
    pick,
  });
  return {
    ...{ of: "pod", scheme: "https", host, port: targetPort },
    tls: {
      servername: `${name}.${namespace}.svc`,
      rejectUnauthorized: !insecure,
      ...(authorities && { ca: authorities, allowPartialTrustChain: true }),
      ...(identity && { cert: identity.certificate, key: identity.key }),
    },
  };
}

const ofUser = /^x-remote-/;

/** A client's headers with who it is, instead of how it proved that or claims to be. */
export function withUser(
  headers: Readonly<Record<string, string | string[]>>,
  { name, uid, groups, extra }: UserInfo,
): Record<string, string | string[]> {
  const passed = Object.fromEntries(Object.entries(headers).filter(([key]) => !ofUser.test(key)));
  const extras = Object.entries(extra ?? {}).map(([key, values]) => [
    `x-remote-extra-${encodeURIComponent(key.toLowerCase())}`,
    [...values],
  ]);
  return {
    ...passed,
    "x-remote-user": name,
    ...(uid && { "x-remote-uid": uid }),
    "x-remote-group": [...groups],
    ...Object.fromEntries(extras),
  };
}
