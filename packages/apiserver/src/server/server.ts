/** The API server: store, registry, plug-ins, verbs and dispatcher, put together. */
import {
  type Cancel,
  type Clock,
  type HttpPort,
  parseDuration,
  type Random,
  systemRandom,
} from "@keelson/core";
import { backgroundClock } from "@keelson/core/internal";
import { socketWebhooks } from "../admission/webhooks/call.ts";
import { Aggregator } from "../aggregation/aggregator.ts";
import type { FrontProxyIdentity } from "../aggregation/extension.ts";
import { ServiceAddressObjects } from "../bootstrap/ip-addresses.ts";
import { bootstrapObjects } from "../bootstrap/objects.ts";
import type { Authenticator, UserInfo } from "../contracts/authentication.ts";
import type { Authorizer } from "../contracts/authorization.ts";
import type { ClusterDialer } from "../contracts/dialer.ts";
import type { PluginFactory } from "../contracts/plugin.ts";
import { StatusError } from "../contracts/status-error.ts";
import type { WebhookCaller } from "../contracts/webhook.ts";
import { DefinitionController } from "../crd/controller.ts";
import { conversionCaller } from "../crd/webhook-call.ts";
import { Discovery } from "../discovery/discovery.ts";
import { Dispatcher, type Handler } from "../http/dispatcher.ts";
import { InFlight, type InFlightLimits } from "../http/in-flight.ts";
import { inProcessPort } from "../http/in-process.ts";
import { SystemPaths } from "../http/system-paths.ts";
import type { ServerRequest, ServerResponse } from "../messages/message.ts";
import type { RequestInfo } from "../messages/request-info.ts";
import { textResponse } from "../messages/response.ts";
import { OpenApi } from "../openapi/openapi.ts";
import { socketDialer } from "../proxy/socket-dialer.ts";
import { type KubeletIdentity, type ProxyTransport, socketTransport } from "../proxy/transport.ts";
import { Registry } from "../registry/registry.ts";
import { MetricsApi, metricsApiService, withMetrics } from "../resource-metrics/metrics-api.ts";
import { UsageMeter } from "../resource-metrics/usage.ts";
import type { World } from "../rest/exchange.ts";
import { ObjectStore } from "../rest/object-store.ts";
import type { ResourceApi } from "../rest/resource-api.ts";
import { type Snapshot, Store } from "../storage/store.ts";
import { defaultServiceRange, firstServiceAddress } from "../validation/core/service-addresses.ts";
import { administrator, adminToken, allowAll, masters, unionAuthorizer } from "./authorizers.ts";
import { builtinResources } from "./builtin-resources.ts";
import { EventExpiry } from "./event-expiry.ts";
import { writeFirstObjects } from "./first-objects.ts";
import { allowsAll, checkFlags, type Flags } from "./flags.ts";
import { mergePlugins, pluginContext } from "./plugin-context.ts";
import { PluginStore } from "./plugin-store.ts";
import { defaultPlugins } from "./plugins.ts";
import { type StoredObjects, storedObjects } from "./stored-objects.ts";
import { resourceVerbs } from "./verbs.ts";

/** What an API server is started with. Every option has a default: `apiServer()` serves from memory. */
export interface ApiServerOptions {
  readonly clock?: Clock;
  readonly random?: Random;
  /** Bearer token of a member of system:masters. In process no token is needed. */
  readonly token?: string;
  /**
   * Command line flags as kube-apiserver names them, without dashes, for plug-ins. By default the ServiceAccount
   * plug-in is off: a server alone has no controller that makes accounts, and every pod would wait for one.
   */
  readonly flags?: Readonly<Record<string, string>>;
  /** What plugs in, asked in order. Default: {@link defaultPlugins}. */
  readonly plugins?: readonly PluginFactory[];
  /** Keeps objects here: every acknowledged write survives a crash. In memory without it. */
  readonly dataDir?: string;
  /** Begins with what another server in this process had stored; in memory only. */
  readonly from?: Snapshot;
  /** As --authorization-mode: `RBAC`, `AlwaysAllow`, or both with a comma. */
  readonly authorizationMode?: string;
  /** How long the past stays readable. Default five minutes. */
  readonly compactionIntervalMs?: number;
  /** Where clients inside the cluster reach the server. */
  readonly advertise?: { readonly address: string; readonly port: number };
  readonly caCertificate?: string;
  /** Told of every fault of the server's own, which clients see as a 500. */
  readonly onInternalError?: (error: unknown, request: ServerRequest) => void;
  /** How many requests may be under way. */
  readonly inFlight?: InFlightLimits;
  /** The certificate by which kubelets know the server, for logs, exec and the like. */
  readonly kubeletClient?: KubeletIdentity;
  /** The certificate by which servers that extend this one know it. */
  readonly frontProxy?: FrontProxyIdentity & {
    /** Who signed it, in PEM, for them to read. */
    readonly authority: string;
  };
  /** The way to pods: for proxies, and for webhooks and extensions behind services. Default: the server's own network. */
  readonly dialer?: ClusterDialer;
  /** How kubelets and pods are asked. Default: over HTTP, pods through the dialer. */
  readonly transport?: ProxyTransport;
  /** Serves what nodes and pods use, by asking the kubelets. Default: false. */
  readonly resourceMetrics?: boolean;
  /** How webhooks are called. Default: over TLS, those behind services through the dialer. */
  readonly callWebhook?: WebhookCaller;
}

/** A running API server without sockets. Disposal ends its watches and closes its store. */
export interface ApiServer extends AsyncDisposable {
  /** Requests without credentials of their own are an administrator's. */
  readonly http: HttpPort;
  /** The port as somebody else. */
  as(user: UserInfo): HttpPort;
  readonly dispatch: (request: ServerRequest, user?: UserInfo) => Promise<ServerResponse>;
  /** What is stored, without a request. */
  readonly stored: StoredObjects;
  /** Forgets history: older watches and continue tokens get 410. */
  compact(): void;
  close(): Promise<void>;
}

/** Starts an API server in this process, without sockets: `server.http` is the port of a client. */
export async function apiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const clock = options.clock ?? backgroundClock;
  const random = (options.random ?? systemRandom).fork("apiserver");
  const flags = flagsOf(options);
  const dialer = options.dialer ?? socketDialer;
  const store = await openStore(options, clock);
  const pluginStore = new PluginStore(store);
  const world: World = { clock, random, reader: pluginStore };
  const objects = new ObjectStore(store, clock, random);

  let registry: Registry | undefined;
  const authenticators: Authenticator[] = [];
  const authorizers: Authorizer[] = [];
  const authorizer = unionAuthorizer(authorizers);
  const context = pluginContext({
    store: pluginStore,
    clock,
    random,
    registry: () => {
      if (!registry) throw new Error("the registry is not built yet");
      return registry;
    },
    authenticators,
    authorizer,
    callWebhook: options.callWebhook ?? socketWebhooks(pluginStore, dialer),
    flags,
    caCertificate: options.caCertificate,
    frontProxyAuthority: options.frontProxy?.authority,
  });
  const hooks = (options.plugins ?? defaultPlugins).map((plugin) => plugin(context));
  const plugins = mergePlugins(hooks);
  authenticators.push(...adminToken(options.token), ...(plugins.authenticators ?? []));
  authorizers.push(masters, ...hooks.flatMap((hook) => hook.authorizers ?? []));
  if (authorizers.length === 1) authorizers.push(allowAll);

  registry = new Registry(builtinResources(store, plugins));
  pluginStore.connect({ registry, objects, world });
  const call = conversionCaller(context.callWebhook, clock);
  const definitions = new DefinitionController({ store, registry, clock, random, call });

  const transport = options.transport ?? socketTransport(options.kubeletClient, dialer);
  const verbs = resourceVerbs({
    store,
    pluginStore,
    objects,
    registry,
    world,
    plugins,
    authorizer,
    transport,
    random,
  });
  const aggregator = new Aggregator({
    ...{ objects: pluginStore, clock, transport },
    identity: options.frontProxy,
  });
  const metrics = options.resourceMetrics
    ? new MetricsApi(new UsageMeter({ store: pluginStore, transport, clock }), pluginStore)
    : undefined;
  const extensions = metrics ? withMetrics(aggregator) : aggregator;
  const advertise = options.advertise ?? { address: "127.0.0.1", port: 6443 };
  const dispatch = dispatcherFor({
    authenticators,
    authorizer,
    anonymous: !allowsAll(flags),
    impersonate: plugins.impersonate,
    handle: handlerOf(
      verbs.api,
      aggregator,
      metrics,
      new Discovery(registry, extensions, () => `${advertise.address}:${advertise.port}`),
      new OpenApi(registry, extensions),
      new SystemPaths(plugins.paths ?? {}, () => store.problem()),
    ),
    random,
    inFlight: new InFlight(options.inFlight),
    onInternalError: options.onInternalError,
  });

  const serviceAddress = firstServiceAddress(flags["service-cluster-ip-range"] ?? defaultServiceRange);
  const nowMs = clock.now();
  const kubeletClient = options.kubeletClient?.user;
  const first = bootstrapObjects({
    advertise,
    serviceAddress,
    nowMs,
    ...(kubeletClient === undefined ? {} : { kubeletClient }),
  });
  writeFirstObjects(pluginStore, registry, first, nowMs);
  if (metrics) writeFirstObjects(pluginStore, registry, [metricsApiService(nowMs)], nowMs);
  for (const hook of hooks) writeFirstObjects(pluginStore, registry, (await hook.bootstrap?.()) ?? [], nowMs);
  definitions.start();
  aggregator.start();
  const addresses = new ServiceAddressObjects({ store, clock, random });
  addresses.start();
  const stopRepair = repairAfterLoss(store, clock, () => {
    definitions.resume();
    addresses.settle();
  });
  const expiry = new EventExpiry(store, clock, parseDuration(flags["event-ttl"] ?? "1h"));

  let closed: Promise<void> | undefined;
  const close = () => {
    verbs.endWatches();
    expiry.close();
    stopRepair();
    aggregator.close();
    closed ??= store.close();
    return closed;
  };
  return {
    http: inProcessPort(dispatch, administrator),
    as: (user) => inProcessPort(dispatch, user),
    dispatch,
    stored: storedObjects(store),
    compact: () => store.compact(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const withoutAccounts: Flags = { "disable-admission-plugins": "ServiceAccount" };

function flagsOf(options: ApiServerOptions): Flags {
  return checkFlags({
    ...(options.authorizationMode && { "authorization-mode": options.authorizationMode }),
    ...(options.flags ?? withoutAccounts),
  });
}

const repairMs = 10_000;

/** What the server itself commits nobody asks for again when it could not be kept. */
function repairAfterLoss(store: Store, clock: Clock, repair: () => void): () => void {
  let cancel: Cancel | undefined;
  store.onLoss(() => {
    cancel ??= clock.timer(repairMs, () => {
      cancel = undefined;
      try {
        repair();
      } catch (error) {
        // The disk failed for good: nothing is written any more.
        if (!(error instanceof StatusError)) throw error;
      }
    });
  });
  return () => cancel?.();
}

/** In memory, or with a journal that is loaded only when asked for. */
async function openStore(options: ApiServerOptions, clock: Clock): Promise<Store> {
  const { dataDir: directory, compactionIntervalMs } = options;
  const journal = directory
    ? await (await import("../storage/file-journal.ts")).openFileJournal({ directory })
    : undefined;
  return new Store({
    clock,
    ...(journal ? { journal } : { from: options.from }),
    ...(compactionIntervalMs && { compactionIntervalMs }),
  });
}

/** What other servers answer by them, resources by their verbs; every other path by whichever knows it. */
function handlerOf(
  api: ResourceApi,
  aggregator: Aggregator,
  metrics: MetricsApi | undefined,
  discovery: Discovery,
  openApi: OpenApi,
  system: SystemPaths,
): Handler {
  const other = async (request: ServerRequest, info: RequestInfo): Promise<ServerResponse> =>
    (await discovery.handle(request, info.path)) ??
    (await openApi.handle(request, info)) ??
    (await system.handle(request, info)) ??
    textResponse(404, "404 page not found\n");
  return (request, info, user, warnings) =>
    aggregator.owns(info.path)
      ? aggregator.handle(request, info, user)
      : metrics?.owns(info.path)
        ? metrics.handle(request, info)
        : info.isResource
          ? api.handle(request, info, user, warnings)
          : other(request, info);
}

type DispatcherParts = ConstructorParameters<typeof Dispatcher>[0];

/** One dispatcher for all who authenticate, and one for each user who is known beforehand. */
function dispatcherFor(
  parts: DispatcherParts,
): (request: ServerRequest, user?: UserInfo) => Promise<ServerResponse> {
  const dispatcher = new Dispatcher(parts);
  const known = new WeakMap<UserInfo, Dispatcher>();
  return (request, user) => {
    if (!user) return dispatcher.dispatch(request);
    let own = known.get(user);
    if (!own) {
      own = new Dispatcher({ ...parts, authenticators: [{ authenticate: () => user }] });
      known.set(user, own);
    }
    return own.dispatch(request);
  };
}
