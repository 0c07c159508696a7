/**
 * The aggregation layer: API groups of other servers, served under this one's paths.
 *
 * An APIService that names a service is an extension. It is asked for its resources when it or its endpoints change and
 * every half minute; while it answers it is available, and requests for its group and version are passed on to it with
 * the user in headers that only this server's certificate makes it believe.
 */
import { type Cancel, type Clock, formatTime, type JsonObject, parseJson } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import { StatusError, serviceUnavailable } from "../contracts/status-error.ts";
import type { StoreWriter } from "../contracts/store.ts";
import type { ServerRequest, ServerResponse } from "../messages/message.ts";
import type { RequestInfo } from "../messages/request-info.ts";
import { textResponse } from "../messages/response.ts";
import { joined } from "../proxy/connect.ts";
import { streamOf } from "../proxy/pod-logs.ts";
import { type Destination, forwardedHeaders, type ProxyTransport } from "../proxy/transport.ts";
import { type Availability, discoveryFailed, passed, unavailable } from "./availability.ts";
import type { ListedResource } from "./documents.ts";
import {
  type Extension,
  extensionDestination,
  extensionOf,
  type FrontProxyIdentity,
  withUser,
} from "./extension.ts";

export interface AggregatorParts {
  readonly objects: StoreWriter;
  readonly clock: Clock;
  readonly transport: ProxyTransport;
  readonly identity?: FrontProxyIdentity | undefined;
}

const everyMs = 30_000;
/** Endpoints come one after the other. */
const gatherMs = 50;
const answerMs = 5_000;
/** Above any document of OpenAPI. */
const mostBytes = 64 * 1024 * 1024;

const apiServices = { group: "apiregistration.k8s.io", resource: "apiservices" };
/** What the availability of an extension depends on, beside itself. */
const observed = [
  { group: "", resource: "services" },
  { group: "discovery.k8s.io", resource: "endpointslices" },
];

interface Known {
  readonly extension: Extension;
  isAvailable: boolean;
  resources?: readonly ListedResource[] | undefined;
  openApiV2?: JsonObject | undefined;
  /** Documents of OpenAPI v3 by their names, as `apis/group/version`. */
  openApiV3?: JsonObject | undefined;
}

/** What an extension serves, as far as it has said so. */
export interface ExtensionView {
  readonly extension: Pick<Extension, "group" | "version" | "groupPriority" | "versionPriority">;
  readonly resources: readonly ListedResource[] | undefined;
  readonly openApiV2: JsonObject | undefined;
  readonly openApiV3: JsonObject | undefined;
}

/** What is served beside this server's own resources. */
export interface Extensions {
  /** Grows with every change of what is served. */
  readonly generation: number;
  views(): readonly ExtensionView[];
}

export class Aggregator implements Extensions {
  readonly #parts: AggregatorParts;
  readonly #known = new Map<string, Known>();
  readonly #abort = new AbortController();
  #timer: Cancel | undefined;
  #soon: Cancel | undefined;
  #turn = 0;
  #generation = 0;

  constructor(parts: AggregatorParts) {
    this.#parts = parts;
  }

  /** Begins with what is stored, and follows it. */
  start(): void {
    const { objects } = this.#parts;
    for (const object of objects.list(apiServices)) this.#see(object);
    objects.subscribe(apiServices, ({ object, previous }) => {
      if (object) this.#see(object);
      else if (previous) this.#forget(previous.metadata.name);
    });
    for (const resource of observed)
      objects.subscribe(resource, ({ object, previous }) => {
        const changed = object ?? previous;
        if (changed && this.#isObserved(changed)) this.#checkSoon();
      });
  }

  close(): void {
    this.#abort.abort();
    this.#timer?.();
    this.#soon?.();
  }

  /** Grows with every change of what is served. */
  get generation(): number {
    return this.#generation;
  }

  views(): ExtensionView[] {
    return [...this.#known.values()].map(({ extension, isAvailable, resources, openApiV2, openApiV3 }) => ({
      extension,
      ...(isAvailable
        ? { resources, openApiV2, openApiV3 }
        : { resources: undefined, openApiV2: undefined, openApiV3: undefined }),
    }));
  }

  /** Whether another server answers for the path. */
  owns(path: string): boolean {
    return this.#known.size > 0 && this.#at(path) !== undefined;
  }

  #at(path: string): Known | undefined {
    const [, root, group, version] = path.startsWith("/openapi/v3/apis/")
      ? path.slice("/openapi/v3".length).split("/")
      : path.split("/");
    return root === "apis" && version ? this.#known.get(`${version}.${group}`) : undefined;
  }

  /** Passes a request on that the other server answers. */
  async handle(request: ServerRequest, info: RequestInfo, user: UserInfo): Promise<ServerResponse> {
    const known = this.#at(info.path);
    if (!known?.isAvailable) return textResponse(503, "service unavailable\n");
    const { transport } = this.#parts;
    const headers = withUser(forwardedHeaders(request.headers, request.canUpgrade === true), user);
    const { method, target: path } = request;
    try {
      const to = this.#destination(known.extension);
      if (request.canUpgrade)
        return { status: 101, headers: {}, body: joined(transport, to, { method, path, headers }) };
      const body = await request.body();
      const length = body.length > 0 ? { "content-length": String(body.length) } : {};
      const response = await transport.request(to, {
        ...{ method, path, body, signal: request.signal },
        headers: { ...headers, ...length },
      });
      const { "transfer-encoding": _t, connection: _c, ...passedOn } = response.headers;
      return { status: response.status, headers: passedOn, body: streamOf(response.body) };
    } catch (error) {
      if (error instanceof StatusError && error.status.code !== 404) throw error;
      throw serviceUnavailable(`error trying to reach service: ${messageOf(error)}`);
    }
  }

  #destination(extension: Extension): Destination {
    const { objects, identity } = this.#parts;
    return extensionDestination(extension, objects, identity, (count) => this.#turn++ % count);
  }

  #see(object: ApiObject): void {
    const { name } = object.metadata;
    const extension = extensionOf(object);
    const known = this.#known.get(name);
    if (!extension) {
      if (known) this.#forget(name);
      return;
    }
    if (known && JSON.stringify(known.extension) === JSON.stringify(extension)) return;
    // What is known of it holds until it is asked again.
    this.#known.set(name, { isAvailable: false, ...known, extension });
    this.#generation++;
    this.#checkSoon();
    this.#timer ??= this.#every();
  }

  #forget(name: string): void {
    if (!this.#known.delete(name)) return;
    this.#generation++;
    if (this.#known.size > 0) return;
    this.#timer?.();
    this.#timer = undefined;
  }

  #isObserved({ metadata, kind }: ApiObject): boolean {
    const service = kind === "Service" ? metadata.name : metadata.labels?.["kubernetes.io/service-name"];
    for (const { extension } of this.#known.values())
      if (extension.service.namespace === metadata.namespace && extension.service.name === service)
        return true;
    return false;
  }

  #every(): Cancel {
    return this.#parts.clock.timer(everyMs, () => {
      this.#timer = this.#every();
      void this.#checkAll();
    });
  }

  #checkSoon(): void {
    this.#soon ??= this.#parts.clock.timer(gatherMs, () => {
      this.#soon = undefined;
      void this.#checkAll();
    });
  }

  async #checkAll(): Promise<void> {
    await Promise.all([...this.#known.values()].map((known) => this.#check(known)));
  }

  async #check(known: Known): Promise<void> {
    const { extension } = known;
    let found = unavailable(extension, this.#parts.objects);
    if (!found) {
      try {
        const { group, version } = extension;
        const { resources } = await this.#ask(extension, `/apis/${group}/${version}`);
        known.resources = Array.isArray(resources) ? (resources as unknown as ListedResource[]) : [];
        found = passed;
      } catch (error) {
        found = discoveryFailed(extension, messageOf(error));
      }
      if (found === passed) await this.#readDocuments(known);
    }
    if (this.#known.get(extension.name) !== known || this.#abort.signal.aborted) return;
    known.isAvailable = found === passed;
    this.#generation++;
    await this.#report(extension, found);
  }

  /** Documents that a server does not have are missing from ours. */
  async #readDocuments(known: Known): Promise<void> {
    const read = (path: string) => this.#ask(known.extension, path).catch(() => undefined);
    const [v2, index] = await Promise.all([read("/openapi/v2"), read("/openapi/v3")]);
    known.openApiV2 = v2;
    const paths = index?.paths;
    known.openApiV3 = isObject(paths) ? paths : undefined;
  }

  /** A document of the extension's, read by this server itself. */
  async #ask(extension: Extension, path: string): Promise<JsonObject> {
    const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(answerMs)]);
    const self: UserInfo = { name: "system:kube-aggregator", groups: ["system:masters"] };
    const headers = withUser({ accept: "application/json" }, self);
    const to = this.#destination(extension);
    const response = await this.#parts.transport.request(to, { method: "GET", path, headers, signal });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body) {
      size += chunk.length;
      if (size > mostBytes) throw new Error(`${path} is longer than ${mostBytes} bytes`);
      chunks.push(chunk);
    }
    if (response.status < 200 || response.status > 299)
      throw new Error(`bad status from https://${to.host}:${to.port}${path}: ${response.status}`);
    const value = parseJson(Buffer.concat(chunks).toString());
    if (!isObject(value)) throw new Error(`${path} is no JSON object`);
    return value;
  }

  /** Writes the condition where it says something new. */
  async #report({ name }: Extension, { status, reason, message }: Availability): Promise<void> {
    const { objects, clock } = this.#parts;
    await objects.update(apiServices, "", name, (draft) => {
      const { conditions = [] } = (draft.status ?? {}) as { conditions?: Record<string, string>[] };
      const before = conditions.find(({ type }) => type === "Available");
      if (before?.status === status && before.reason === reason && before.message === message)
        return undefined;
      const lastTransitionTime =
        before?.status === status && before.lastTransitionTime
          ? before.lastTransitionTime
          : formatTime(clock.now());
      const condition = { type: "Available", status, lastTransitionTime, reason, message };
      draft.status = { conditions: [...conditions.filter((each) => each !== before), condition] };
      return draft;
    });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
