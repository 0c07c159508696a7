// Asks a running API server what it serves: OpenAPI, discovery, priorities, printer columns, field selectors.
import { Agent, request } from "node:https";
import { asList, asMap, asString, type Json, type JsonMap } from "./json.ts";

/** Where the server listens and how to speak to it; `ask` answers with status and body. */
export interface Server {
  ask(path: string, accept?: string): Promise<{ status: number; body: Json }>;
}

/** What one configuration of the server says about itself. */
export interface Observation {
  /** Definitions by their full name, united over every group-version's OpenAPI v3 document. */
  readonly definitions: ReadonlyMap<string, JsonMap>;
  /** APIResourceList by group-version, as `v1` and `apps/v1`. */
  readonly resources: ReadonlyMap<string, JsonMap>;
  /** APIGroupList. */
  readonly groups: JsonMap;
  /** Aggregated discovery of `/api` and `/apis`, in the server's order. */
  readonly aggregated: readonly JsonMap[];
  /** OpenAPI v2, for what only it has: the list of every known group-version. */
  readonly swagger: JsonMap;
  /** The APIServices the server made for its own group-versions: they carry the priorities. */
  readonly apiServices: readonly JsonMap[];
}

export function httpsServer(origin: string, token: string): Server {
  const agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false });
  return {
    ask: (path, accept = "application/json") =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}`, accept };
        const outgoing = request(new URL(path, origin), { headers, agent }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString("utf8");
            try {
              resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Json });
            } catch (cause) {
              reject(
                new Error(`${path} answered ${response.statusCode} with something that is not JSON`, {
                  cause,
                }),
              );
            }
          });
        });
        outgoing.on("error", reject);
        outgoing.end();
      }),
  };
}

export async function get(server: Server, path: string, accept?: string): Promise<JsonMap> {
  const { status, body } = await server.ask(path, accept);
  if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
  return asMap(body, path);
}

const aggregatedForm = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

export async function observe(server: Server): Promise<Observation> {
  const definitions = new Map<string, JsonMap>();
  const index = asMap((await get(server, "/openapi/v3")).paths, "the OpenAPI index");
  for (const [path, entry] of Object.entries(index)) {
    const url = asString(asMap(entry, path).serverRelativeURL, path);
    const document = await get(server, url);
    const components = asMap(document.components ?? {}, path);
    for (const [name, schema] of Object.entries(asMap(components.schemas ?? {}, path))) {
      definitions.set(name, asMap(schema, name));
    }
  }
  const groups = await get(server, "/apis");
  const groupVersions = ["v1"];
  for (const group of asList(groups.groups, "groups")) {
    for (const version of asList(asMap(group, "group").versions, "versions")) {
      groupVersions.push(asString(asMap(version, "version").groupVersion, "groupVersion"));
    }
  }
  const resources = new Map<string, JsonMap>();
  for (const groupVersion of groupVersions) {
    const path = groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
    resources.set(groupVersion, await get(server, path));
  }
  const aggregated = [await get(server, "/api", aggregatedForm), await get(server, "/apis", aggregatedForm)];
  const apiServices = await get(server, "/apis/apiregistration.k8s.io/v1/apiservices");
  return {
    definitions,
    resources,
    groups,
    aggregated,
    swagger: await get(server, "/openapi/v2"),
    apiServices: asList(apiServices.items, "APIServices").map((item) => asMap(item, "APIService")),
  };
}
