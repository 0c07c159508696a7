/** What plug-ins are handed when the server starts, and what they hand back, as one. */
import { type Clock, type JsonObject, parseApiVersion, type Random } from "@keelson/core";
import type { Authenticator } from "../contracts/authentication.ts";
import type { Authorizer } from "../contracts/authorization.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginContext, Plugins } from "../contracts/plugin.ts";
import { badRequest } from "../contracts/status-error.ts";
import type { WebhookCaller } from "../contracts/webhook.ts";
import type { ApiResource } from "../registry/api-resource.ts";
import { type Registry, served } from "../registry/registry.ts";
import type { PluginStore } from "./plugin-store.ts";

export interface PluginContextParts {
  readonly store: PluginStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Plug-ins are made before the registry: they are asked for strategies while it is built. */
  readonly registry: () => Registry;
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  readonly callWebhook: WebhookCaller;
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly caCertificate: string | undefined;
  readonly frontProxyAuthority: string | undefined;
}

export function pluginContext(parts: PluginContextParts): PluginContext {
  const { registry, authenticators, flags } = parts;
  return {
    store: parts.store,
    clock: parts.clock,
    random: parts.random,
    resources: (group, resource) => describe(registry().get(group, resource)),
    kinds: (group, kind) => describe(registry().byKind(group, kind)),
    convert: async (object, apiVersion) => convertTo(registry(), object, apiVersion),
    complete: (object) => complete(registry(), object),
    mergeType: (group, version, kind) => {
      const type = registry().byKind(group, kind);
      return type?.versions.has(version) ? type.type.mergeType(version) : undefined;
    },
    callWebhook: parts.callWebhook,
    authorizer: parts.authorizer,
    authenticate: async (request) => {
      for (const authenticator of authenticators) {
        const user = await authenticator.authenticate(request);
        if (user) return user;
      }
      return undefined;
    },
    flag: (name) => flags[name],
    caCertificate: parts.caCertificate,
    frontProxyAuthority: parts.frontProxyAuthority,
  };
}

function describe(resource: ApiResource | undefined) {
  return resource && served(resource);
}

async function convertTo(registry: Registry, object: ApiObject, apiVersion: string): Promise<ApiObject> {
  const { group, version } = parseApiVersion(apiVersion);
  const resource = registry.byKind(group, String(object.kind));
  return resource ? resource.type.convert(object, version) : object;
}

function complete(registry: Registry, object: JsonObject): ApiObject {
  const { group, version } = parseApiVersion(String(object.apiVersion ?? ""));
  const resource = registry.byKind(group, String(object.kind ?? ""));
  if (!resource?.versions.has(version))
    throw badRequest(`no kind "${String(object.kind)}" is served in version "${String(object.apiVersion)}"`);
  const draft = resource.type.decode(object, version, []);
  resource.type.default(draft, version);
  return draft;
}

/** Lists one behind the other; of single things, the first. */
export function mergePlugins(all: readonly Plugins[]): Plugins {
  const first = <T>(pick: (hooks: Plugins) => T | undefined): T | undefined => {
    for (const hooks of all) {
      const found = pick(hooks);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const impersonate = first((hooks) => hooks.impersonate);
  return {
    authenticators: all.flatMap((hooks) => hooks.authenticators ?? []),
    admission: all.flatMap((hooks) => hooks.admission ?? []),
    strategies: (group, resource) => first((hooks) => hooks.strategies?.(group, resource)),
    printers: (group, kind) => first((hooks) => hooks.printers?.(group, kind)),
    virtual: Object.assign({}, ...all.map((hooks) => hooks.virtual ?? {})),
    paths: Object.assign({}, ...all.map((hooks) => hooks.paths ?? {})),
    ...(impersonate && { impersonate }),
  };
}
