/** `metrics.k8s.io`: what nodes and pods use, as `kubectl top` and autoscalers ask for it. */
import {
  CoreError,
  formatTime,
  type JsonObject,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "@keelson/core";
import type { Extensions, ExtensionView } from "../aggregation/aggregator.ts";
import { localApiService } from "../bootstrap/api-services.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, methodNotAllowed, noSuchResource, notFound } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import { header, type ServerRequest, type ServerResponse } from "../messages/message.ts";
import { negotiate } from "../messages/negotiation.ts";
import type { RequestInfo } from "../messages/request-info.ts";
import { jsonResponse } from "../messages/response.ts";
import type { Usage, UsageMeter, UsageReport } from "./usage.ts";

const group = "metrics.k8s.io";
const version = "v1beta1";
const apiVersion = `${group}/${version}`;

/** As `/apis/metrics.k8s.io/v1beta1` lists them. */
const metricsResources = [
  { name: "nodes", singularName: "", namespaced: false, kind: "NodeMetrics", verbs: ["get", "list"] },
  { name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] },
] as const;

const metricsGroup = { group, version, groupPriority: 100, versionPriority: 100 } as const;

export class MetricsApi {
  readonly #meter: Pick<UsageMeter, "usage">;
  readonly #store: StoreReader;

  constructor(meter: Pick<UsageMeter, "usage">, store: StoreReader) {
    this.#meter = meter;
    this.#store = store;
  }

  owns(path: string): boolean {
    return path === `/apis/${apiVersion}` || path.startsWith(`/apis/${apiVersion}/`);
  }

  async handle(request: ServerRequest, info: RequestInfo): Promise<ServerResponse> {
    const negotiated = negotiate(header(request.headers, "accept"), { query: info.query });
    if (request.method !== "GET") throw methodNotAllowed();
    const answer = (value: JsonObject) =>
      jsonResponse(200, value, { ...negotiated, mediaType: "application/json" });
    if (!info.isResource)
      return answer({
        kind: "APIResourceList",
        apiVersion: "v1",
        groupVersion: apiVersion,
        resources: metricsResources.map((resource) => ({ ...resource, verbs: [...resource.verbs] })),
      });
    const resource = metricsResources.find(({ name }) => name === info.resource);
    if (!resource || info.subresource || (resource.name === "nodes" && info.namespaced))
      throw noSuchResource();
    if (info.verb !== "get" && info.verb !== "list") throw methodNotAllowed();
    const usage = await this.#meter.usage();
    const all = resource.name === "nodes" ? this.#nodes(usage) : this.#pods(usage);
    const selected = select(all, info);
    if (info.verb === "list")
      return answer({ kind: `${resource.kind}List`, apiVersion, metadata: {}, items: selected });
    const [found] = selected.filter(({ metadata }) => metadata.name === info.name);
    if (!found) throw notFound({ group, resource: `${resource.name}.${group}` }, info.name);
    return answer(found);
  }

  #nodes({ nodes, ...report }: UsageReport): ApiObject[] {
    return nodes.flatMap((node) => {
      const object = this.#store.get({ group: "", resource: "nodes" }, "", node.name);
      return object ? [{ ...metricsOf("NodeMetrics", object, report), usage: amounts(node) }] : [];
    });
  }

  #pods({ pods, ...report }: UsageReport): ApiObject[] {
    return pods.flatMap(({ namespace, name, uid, containers }) => {
      const object = this.#store.get({ group: "", resource: "pods" }, namespace, name);
      if (object?.metadata.uid !== uid) return [];
      const used = [...containers].map(([container, usage]) => ({ name: container, usage: amounts(usage) }));
      return [{ ...metricsOf("PodMetrics", object, report), containers: used }];
    });
  }
}

/** The extensions and, unless one of them serves them, the metrics. */
export function withMetrics(extensions: Extensions): Extensions {
  const own: ExtensionView = {
    extension: metricsGroup,
    resources: metricsResources,
    openApiV2: undefined,
    openApiV3: undefined,
  };
  const isOurs = ({ extension }: ExtensionView) => extension.group === group && extension.version === version;
  return {
    get generation() {
      return extensions.generation;
    },
    views: () => {
      const views = extensions.views();
      return views.some(isOurs) ? views : [...views, own];
    },
  };
}

/** An APIService that says so; one that names a service takes its place. */
export function metricsApiService(nowMs: number): ApiObject {
  return localApiService(metricsGroup, nowMs);
}

function metricsOf(
  kind: string,
  { metadata: { name, namespace, labels } }: ApiObject,
  { atMs, windowMs }: Pick<UsageReport, "atMs" | "windowMs">,
): ApiObject {
  return {
    kind,
    apiVersion,
    metadata: {
      name,
      ...(namespace && { namespace }),
      creationTimestamp: formatTime(atMs),
      ...(labels && { labels }),
    },
    timestamp: formatTime(atMs),
    window: `${Math.round(windowMs / 10) / 100}s`,
  };
}

function amounts({ cores, bytes }: Usage): JsonObject {
  return { cpu: `${Math.round(cores * 1e9)}n`, memory: `${Math.ceil(bytes / 1024)}Ki` };
}

function select(
  objects: readonly ApiObject[],
  { query, namespace, namespaced, verb }: RequestInfo,
): ApiObject[] {
  try {
    const labels = parseLabelSelector(verb === "list" ? (query.get("labelSelector") ?? "") : "");
    const fields = parseFieldSelector(verb === "list" ? (query.get("fieldSelector") ?? "") : "");
    const read =
      ({ metadata }: ApiObject) =>
      (field: string) =>
        field === "metadata.name"
          ? metadata.name
          : field === "metadata.namespace"
            ? metadata.namespace
            : undefined;
    return objects.filter(
      (object) =>
        (!namespaced || object.metadata.namespace === namespace) &&
        matchesLabels(labels, object.metadata.labels) &&
        matchesFields(fields, read(object)),
    );
  } catch (error) {
    if (error instanceof CoreError) throw badRequest(error.message);
    throw error;
  }
}
