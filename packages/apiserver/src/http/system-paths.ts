/** Health, version, and the list of paths. */
import type { JsonObject } from "@keelson/core";
import type { Plugins } from "../contracts/plugin.ts";
import { methodNotAllowed, noRepresentation } from "../contracts/status-error.ts";
import { header, type ServerRequest, type ServerResponse } from "../messages/message.ts";
import { negotiate, parseAccept } from "../messages/negotiation.ts";
import type { RequestInfo } from "../messages/request-info.ts";
import { jsonResponse, textResponse } from "../messages/response.ts";
import { kubernetesVersion } from "../tables/index.ts";

const checks = [
  "ping",
  "log",
  "etcd",
  "poststarthook/start-apiextensions-controllers",
  "poststarthook/rbac/bootstrap-roles",
];
const healthRoots = new Set(["healthz", "livez", "readyz"]);

export class SystemPaths {
  readonly #extra: NonNullable<Plugins["paths"]>;
  readonly #storageProblem: () => Promise<Error | undefined>;

  constructor(extra: NonNullable<Plugins["paths"]>, storageProblem: () => Promise<Error | undefined>) {
    this.#extra = extra;
    this.#storageProblem = storageProblem;
  }

  /** `undefined` when the path is none of these. */
  async handle(request: ServerRequest, info: RequestInfo): Promise<ServerResponse | undefined> {
    const { path, query } = info;
    const [root = "", ...rest] = path.split("/").filter((part) => part !== "");
    const extra = this.#extra[path];
    if (extra) {
      const { contentType, body } = extra();
      const accept = parseAccept(header(request.headers, "accept") ?? "*/*");
      if (!accept.some(({ type }) => type === "*/*" || type === contentType))
        throw noRepresentation([contentType]);
      return { status: 200, headers: { "content-type": contentType }, body };
    }
    if (healthRoots.has(root)) {
      // Who cannot keep writes is alive, and not ready for them.
      const storage = root === "readyz" ? await this.#storageProblem() : undefined;
      return health(root, rest.join("/"), query, new Set(storage ? ["etcd"] : []));
    }
    const negotiated = () => negotiate(header(request.headers, "accept"), { query });
    if (root === "version" && request.method !== "GET") throw methodNotAllowed();
    if (root === "version" && rest.length === 0) return jsonResponse(200, versionInfo(), negotiated());
    if (path === "/") return jsonResponse(200, { paths: this.#paths() }, negotiated());
    if (path === "/metrics")
      return { ...textResponse(200, metrics()), headers: { "content-type": "text/plain; version=0.0.4" } };
    return undefined;
  }

  #paths(): string[] {
    return [
      "/api",
      "/api/v1",
      "/apis",
      "/healthz",
      "/livez",
      "/metrics",
      "/openapi/v2",
      "/openapi/v3",
      "/readyz",
      "/version",
      ...Object.keys(this.#extra),
    ].sort();
  }
}

function health(
  root: string,
  check: string,
  query: URLSearchParams,
  failed: ReadonlySet<string>,
): ServerResponse {
  if (check) {
    if (!checks.includes(check)) return textResponse(404, "404 page not found\n");
    if (failed.has(check)) return textResponse(500, `internal server error: ${check}: failed\n`);
    return textResponse(200, "ok");
  }
  const excluded = new Set(query.getAll("exclude"));
  const passed = [...failed].every((name) => excluded.has(name));
  if (passed && !query.has("verbose")) return textResponse(200, "ok");
  const lines = checks.map((name) => {
    if (excluded.has(name)) return `[+]${name} excluded: ok\n`;
    return failed.has(name) ? `[-]${name} failed: reason withheld\n` : `[+]${name} ok\n`;
  });
  return textResponse(passed ? 200 : 500, `${lines.join("")}${root} check ${passed ? "passed" : "failed"}\n`);
}

export function versionInfo(): JsonObject {
  const [major = "1", minor = "36"] = kubernetesVersion.slice(1).split(".");
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: kubernetesVersion,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: `node${process.version}`,
    compiler: "keelson",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}

function metrics(): string {
  const { heapUsed, rss } = process.memoryUsage();
  return [
    "# TYPE process_resident_memory_bytes gauge",
    `process_resident_memory_bytes ${rss}`,
    "# TYPE nodejs_heap_used_bytes gauge",
    `nodejs_heap_used_bytes ${heapUsed}`,
    "",
  ].join("\n");
}
