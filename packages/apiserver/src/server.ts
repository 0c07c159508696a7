/** The API server: its parts, put together. */
import { type Clock, type HttpPort, type JsonObject, parseApiVersion, type Random } from "@keelson/core";
import { socketWebhooks } from "./admission/webhooks/call.ts";
import { bootstrapObjects } from "./bootstrap/objects.ts";
import { ownedByServer } from "./bootstrap/owners.ts";
import { withStatus } from "./bootstrap/status.ts";
import { namespaceLifecycle } from "./builtin/namespace-lifecycle.ts";
import { DefinitionController } from "./crd/controller.ts";
import { conversionCaller } from "./crd/webhook-call.ts";
import { Discovery } from "./discovery/discovery.ts";
import { badRequest, type StatusError } from "./errors.ts";
import { HookStore } from "./hook-store.ts";
import type {
  ApiObject,
  Attributes,
  Authenticator,
  Authorizer,
  Decision,
  HookContext,
  HookFactory,
  Hooks,
  UserInfo,
  WebhookCaller,
} from "./hooks.ts";
import { Dispatcher, denied, type Handler } from "./http/dispatcher.ts";
import { inProcessPort } from "./http/in-process.ts";
import { header, type ServerRequest, type ServerResponse } from "./http/message.ts";
import type { RequestInfo } from "./http/request-info.ts";
import { textResponse } from "./http/response.ts";
import { SystemPaths } from "./http/system-paths.ts";
import { OpenApi } from "./openapi/openapi.ts";
import { defaultPlugins } from "./plugins.ts";
import { connectHandler } from "./proxy/connect.ts";
import { httpProxyHandler } from "./proxy/http-proxy.ts";
import { podLogHandler } from "./proxy/pod-logs.ts";
import { type KubeletIdentity, type ProxyTransport, socketTransport } from "./proxy/transport.ts";
import type { ApiResource } from "./registry/api-resource.ts";
import { builtinResources } from "./registry/builtin-resources.ts";
import { Registry, served } from "./registry/registry.ts";
import { Admission } from "./rest/admission.ts";
import { Deletes } from "./rest/deletes.ts";
import type { Exchange, World } from "./rest/exchange.ts";
import { FieldManager } from "./rest/field-manager.ts";
import { ObjectStore } from "./rest/object-store.ts";
import { Reads } from "./rest/reads.ts";
import { ResourceApi } from "./rest/resource-api.ts";
import { Writes } from "./rest/writes.ts";
import type { Journal } from "./storage/journal.ts";
import { Store } from "./storage/store.ts";
import { bindingHandler } from "./subresources/binding.ts";
import { componentStatuses } from "./subresources/component-statuses.ts";
import { evictionHandler } from "./subresources/eviction.ts";
import { scaleHandler } from "./subresources/scale.ts";
import { type SubresourceHandler, Subresources } from "./subresources/subresources.ts";
import { defaultServiceRange, firstServiceAddress } from "./validation/core/service-addresses.ts";
import { realClock, realRandom } from "./world.ts";

export interface ApiServerOptions {
  readonly clock?: Clock;
  readonly random?: Random;
  /** Bearer token of a member of system:masters. In process no token is needed. */
  readonly token?: string;
  /**
   * Command line flags as kube-apiserver names them, without dashes, for plug-ins. Unless given, the ServiceAccount
   * plug-in is off: a server alone has no controller that makes accounts, and every pod would wait for one.
   */
  readonly flags?: Readonly<Record<string, string>>;
  /** What plugs in, asked in order. Default: {@link defaultPlugins}. */
  readonly plugins?: readonly HookFactory[];
  /** Keeps objects here: every acknowledged write survives a crash. In memory without it. */
  readonly dataDir?: string;
  /** As --authorization-mode: `RBAC`, `AlwaysAllow`, or both with a comma. */
  readonly authorizationMode?: string;
  /** How long the past stays readable. Default five minutes. */
  readonly compactionIntervalMs?: number;
  /** Where clients inside the cluster reach the server. */
  readonly advertise?: { readonly address: string; readonly port: number };
  readonly caCertificate?: string;
  /** Told of every fault of the server's own, which clients see as a 500. */
  readonly onInternalError?: (error: unknown, request: ServerRequest) => void;
  /** The certificate by which kubelets know the server, for logs, exec and the like. */
  readonly kubeletClient?: KubeletIdentity;
  /** How kubelets, pods and services are reached. Default: by their addresses. */
  readonly transport?: ProxyTransport;
  /** How webhooks are called. Default: over TLS, services at one of their endpoints. */
  readonly callWebhook?: WebhookCaller;
}

export interface ApiServer extends AsyncDisposable {
  /** Requests without credentials of their own are an administrator's. */
  readonly http: HttpPort;
  /** The port as somebody else. */
  as(user: UserInfo): HttpPort;
  readonly dispatch: (request: ServerRequest, user?: UserInfo) => Promise<ServerResponse>;
  /** Forgets history: older watches and continue tokens get 410. */
  compact(): void;
  close(): Promise<void>;
}

const withoutAccounts: Readonly<Record<string, string>> = { "disable-admission-plugins": "ServiceAccount" };

export const administrator: UserInfo = { name: "admin", groups: ["system:masters"] };

export async function apiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const clock = options.clock ?? realClock;
  const random = (options.random ?? realRandom).fork("apiserver");
  const journal = options.dataDir ? await openJournal(options.dataDir) : undefined;
  const store = new Store({
    clock,
    ...(journal && { journal }),
    ...(options.compactionIntervalMs && { compactionIntervalMs: options.compactionIntervalMs }),
  });
  const hookStore = new HookStore(store);
  const world: World = { clock, random, reader: hookStore };
  const objects = new ObjectStore(store, clock, random);

  let registry: Registry | undefined;
  const current = (): Registry => {
    if (!registry) throw new Error("the registry is not built yet");
    return registry;
  };
  const authenticators: Authenticator[] = [];
  const flags: Record<string, string | undefined> = {
    ...(options.authorizationMode && { "authorization-mode": options.authorizationMode }),
    ...(options.flags ?? withoutAccounts),
  };
  const authorizers: Authorizer[] = [];
  const authorizer = unionAuthorizer(authorizers);
  const context: HookContext = {
    store: hookStore,
    clock,
    random,
    resources: (group, resource) => describe(current().get(group, resource)),
    kinds: (group, kind) => describe(current().byKind(group, kind)),
    convert: async (object, apiVersion) => convertTo(current(), object, apiVersion),
    complete: (object) => complete(current(), object),
    mergeType: (group, version, kind) => {
      const type = current().byKind(group, kind);
      return type?.versions.has(version) ? type.type.mergeType(version) : undefined;
    },
    callWebhook: options.callWebhook ?? socketWebhooks(hookStore),
    authorizer,
    authenticate: async (request) => {
      for (const authenticator of authenticators) {
        const user = await authenticator.authenticate(request);
        if (user) return user;
      }
      return undefined;
    },
    flag: (name) => flags[name],
    caCertificate: options.caCertificate,
  };
  const hooks = (options.plugins ?? defaultPlugins).map((plugin) => plugin(context));
  authorizers.push(masters, ...hooks.flatMap((hook) => hook.authorizers ?? []));
  if (authorizers.length === 1) authorizers.push(allowAll);

  const merged = mergeHooks(hooks);
  registry = new Registry(builtinResources(store, merged));
  hookStore.connect({ registry, objects, world });
  const call = conversionCaller(context.callWebhook, clock);
  const definitions = new DefinitionController({ store, registry, clock, random, call });

  const admission = new Admission(
    merged.admission?.length ? merged.admission : [namespaceLifecycle(hookStore)],
  );
  const reads = new Reads(store, world, (resource, version, end) => current().onGone(resource, version, end));
  const fields = new FieldManager(clock);
  const writes = new Writes({
    objects,
    admission,
    fields,
    world,
    authorizeCreate: (exchange) => authorizeCreate(authorizer, exchange),
  });
  const deletes = new Deletes(objects, admission, world);
  const transport = options.transport ?? socketTransport(options.kubeletClient);
  const connect = connectHandler({ store: hookStore, transport, admission });
  const binding = bindingHandler({ objects, admission, world, registry });
  const handlers = new Map<string, SubresourceHandler>([
    ["*/scale", scaleHandler({ reads, objects, admission, fields, world })],
    ["/pods/binding", binding],
    ["/bindings", binding],
    ["/componentstatuses", componentStatuses],
    ["/pods/log", podLogHandler(hookStore, transport)],
    ["/pods/exec", connect],
    ["/pods/attach", connect],
    ["/pods/portforward", connect],
    ["*/proxy", httpProxyHandler({ store: hookStore, transport, random })],
    ["/pods/eviction", evictionHandler({ deletes, admission, registry, store, world })],
  ]);
  const subresources = new Subresources({
    reads,
    writes,
    handlers,
    virtual: merged.virtual ?? {},
    fields,
  });
  const api = new ResourceApi(registry, store, { reads, writes, deletes, subresources });
  const advertise = options.advertise ?? { address: "127.0.0.1", port: 6443 };
  const discovery = new Discovery(registry, () => `${advertise.address}:${advertise.port}`);
  const openApi = new OpenApi(registry);
  const system = new SystemPaths(merged.paths ?? {});

  const handleOther = async (request: ServerRequest, info: RequestInfo): Promise<ServerResponse> =>
    (await discovery.handle(request, info.path)) ??
    (await openApi.handle(request, info)) ??
    (await system.handle(request, info)) ??
    textResponse(404, "404 page not found\n");
  const handle: Handler = (request, info, user, warnings) =>
    info.isResource ? api.handle(request, info, user, warnings) : handleOther(request, info);
  authenticators.push(...adminToken(options.token), ...(merged.authenticators ?? []));
  // Where everything is allowed, it must at least be known to whom.
  const anonymous = !(flags["authorization-mode"] ?? "").split(",").includes("AlwaysAllow");
  const dispatcher = new Dispatcher({
    authenticators,
    authorizer,
    anonymous,
    impersonate: merged.impersonate,
    handle,
    random,
    onInternalError: options.onInternalError,
  });
  const dispatchers = new WeakMap<UserInfo, Dispatcher>();
  const dispatch = (request: ServerRequest, user?: UserInfo): Promise<ServerResponse> => {
    if (!user) return dispatcher.dispatch(request);
    let own = dispatchers.get(user);
    if (!own) {
      own = new Dispatcher({
        authenticators: [{ authenticate: () => user }],
        authorizer,
        anonymous,
        impersonate: merged.impersonate,
        handle,
        random,
        onInternalError: options.onInternalError,
      });
      dispatchers.set(user, own);
    }
    return own.dispatch(request);
  };

  const serviceAddress = firstServiceAddress(flags["service-cluster-ip-range"] ?? defaultServiceRange);
  const nowMs = clock.now();
  const first = bootstrapObjects({ advertise, serviceAddress, nowMs });
  bootstrap(hookStore, registry, first, nowMs);
  for (const hook of hooks) bootstrap(hookStore, registry, (await hook.bootstrap?.()) ?? [], nowMs);

  definitions.start();

  let closed: Promise<void> | undefined;
  const close = () => {
    reads.endWatches();
    closed ??= store.close();
    return closed;
  };
  return {
    http: inProcessPort(dispatch, administrator),
    as: (user) => inProcessPort(dispatch, user),
    dispatch,
    compact: () => store.compact(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Loaded only when asked for: a server in memory needs none of it. */
async function openJournal(directory: string): Promise<Journal> {
  const { openFileJournal } = await import("./storage/file-journal.ts");
  return openFileJournal({ directory });
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

const masters: Authorizer = {
  authorize: ({ user }) =>
    user.groups.includes("system:masters")
      ? { decision: "allow", reason: "" }
      : { decision: "no-opinion", reason: "" },
};

const allowAll: Authorizer = { authorize: () => ({ decision: "allow", reason: "" }) };

/** The first that allows or denies decides; reasons of those without an opinion add up. */
function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    // At once when all of them answer at once: expressions cannot wait.
    authorize(attributes: Attributes): Decision | Promise<Decision> {
      return ask(authorizers, attributes, [], 0);
    },
    rulesFor(user, namespace) {
      const rules = authorizers.map((authorizer) => authorizer.rulesFor?.(user, namespace));
      return {
        resourceRules: rules.flatMap((set) => set?.resourceRules ?? []),
        nonResourceRules: rules.flatMap((set) => set?.nonResourceRules ?? []),
        incomplete: rules.some((set) => set?.incomplete ?? false),
      };
    },
  };
}

function ask(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  reasons: string[],
  from: number,
): Decision | Promise<Decision> {
  for (let i = from; i < authorizers.length; i++) {
    const decided = (authorizers[i] as Authorizer).authorize(attributes);
    if (decided instanceof Promise) return askOn(decided, authorizers, attributes, reasons, i + 1);
    if (decided.decision !== "no-opinion") return decided;
    if (decided.reason) reasons.push(decided.reason);
  }
  return { decision: "no-opinion", reason: reasons.join("\n") };
}

async function askOn(
  pending: Promise<Decision>,
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  reasons: string[],
  next: number,
): Promise<Decision> {
  const decided = await pending;
  if (decided.decision !== "no-opinion") return decided;
  if (decided.reason) reasons.push(decided.reason);
  return ask(authorizers, attributes, reasons, next);
}

async function authorizeCreate(authorizer: Authorizer, exchange: Exchange): Promise<StatusError | undefined> {
  const { info, user } = exchange;
  const attributes: Attributes = {
    user,
    verb: "create",
    resourceRequest: true,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  };
  const { decision, reason } = await authorizer.authorize(attributes);
  return decision === "allow" ? undefined : denied(attributes, reason);
}

function adminToken(token: string | undefined): Authenticator[] {
  if (token === undefined) return [];
  const expected = `Bearer ${token}`;
  return [
    {
      authenticate: ({ headers }) =>
        header(headers, "authorization") === expected ? administrator : undefined,
    },
  ];
}

function mergeHooks(all: readonly Hooks[]): Hooks {
  const first = <T>(pick: (hooks: Hooks) => T | undefined): T | undefined => {
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

/** Writes what is not there yet, as it is: it passes through no validation. */
function bootstrap(store: HookStore, registry: Registry, objects: readonly ApiObject[], nowMs: number): void {
  for (const object of objects) {
    const { group } = parseApiVersion(String(object.apiVersion));
    const resource = registry.byKind(group, String(object.kind));
    if (!resource) continue;
    if (store.get(resource, object.metadata.namespace ?? "", object.metadata.name)) continue;
    store.seed(resource, withStatus(ownedByServer(object, nowMs), nowMs));
  }
}
