/** What plugs into the API server: the server itself knows only these contracts; a refusal is a thrown `StatusError`. */
import type { Clock, JsonObject, Random } from "@keelson/core";
import type { TypeRef } from "@keelson/core/internal/merge";
import type { AdmissionPlugin } from "./admission.ts";
import type { AuthenticationRequest, Authenticator, UserInfo } from "./authentication.ts";
import type { Attributes, Authorizer } from "./authorization.ts";
import type { ApiObject } from "./object.ts";
import type { Printer } from "./printer.ts";
import type { ServedResource } from "./served-resource.ts";
import type { StoreWriter } from "./store.ts";
import type { Strategy } from "./strategy.ts";
import type { VirtualResource } from "./virtual-resource.ts";
import type { WebhookCaller } from "./webhook.ts";

/** What every plug-in is handed once, when the server starts. */
export interface PluginContext {
  readonly store: StoreWriter;
  readonly clock: Clock;
  readonly random: Random;
  /** Resolves a resource that the server serves now, built-in or custom. */
  resources(group: string, resource: string): ServedResource | undefined;
  /** Finds a resource by kind. */
  kinds(group: string, kind: string): ServedResource | undefined;
  /** Converts between versions of one kind, as for a webhook that wants another version. */
  convert(object: ApiObject, apiVersion: string): Promise<ApiObject>;
  /** Reads and completes what a plug-in made, as a body of its `apiVersion` and `kind`. Throws 400. */
  complete(object: JsonObject): ApiObject;
  /** How objects of a kind merge when a configuration is applied; `undefined` when it is not served. */
  mergeType(group: string, version: string, kind: string): TypeRef | undefined;
  /** How webhooks are called. */
  readonly callWebhook: WebhookCaller;
  /** All authorizers as one. */
  readonly authorizer: Authorizer;
  /** Asks all authenticators, the server's own included; `undefined` when none knows the credentials. */
  authenticate(request: AuthenticationRequest): Promise<UserInfo | undefined>;
  /** Value of a command line flag as kube-apiserver names it, without dashes: `service-account-issuer`. */
  flag(name: string): string | undefined;
  /** The cluster's certificate authority in PEM, for what hands it out. */
  readonly caCertificate: string | undefined;
  /** In PEM, who signed the certificate by which extensions know this server. */
  readonly frontProxyAuthority: string | undefined;
}

/**
 * Everything that plugs in, made once per server. Lists are asked in order; a later `strategies` or
 * `printers` entry is asked only when the earlier ones know nothing.
 */
export interface Plugins {
  readonly authenticators?: readonly Authenticator[];
  readonly authorizers?: readonly Authorizer[];
  /** May rewrite the user after authentication (impersonation). Runs with the real user's permissions. */
  readonly impersonate?: (
    request: AuthenticationRequest,
    user: UserInfo,
    authorizer: Authorizer,
    /** What the request asks for, by the real user. */
    attributes: () => Attributes,
  ) => Promise<UserInfo> | UserInfo;
  /** In the order in which they run. */
  readonly admission?: readonly AdmissionPlugin[];
  readonly strategies?: (group: string, resource: string) => Strategy | undefined;
  readonly printers?: (group: string, kind: string) => Printer | undefined;
  /** By `group/resource` or `group/resource/subresource`; the core group is empty: `/serviceaccounts/token`. */
  readonly virtual?: Readonly<Record<string, VirtualResource>>;
  /** Objects that must exist when the server is ready, in order; written only when absent. */
  readonly bootstrap?: () => readonly ApiObject[] | Promise<readonly ApiObject[]>;
  /** Paths outside the resource API: `/.well-known/openid-configuration`. */
  readonly paths?: Readonly<Record<string, () => { contentType: string; body: string }>>;
}

export type PluginFactory = (context: PluginContext) => Plugins;
