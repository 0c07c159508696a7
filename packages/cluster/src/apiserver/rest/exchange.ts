/** One request to one resource: what every verb is handed. */
import type { Clock, JsonObject, JsonValue, Random } from "@keelson/core";
import { type DecodedBody, decodeBody } from "../codec/body.ts";
import { badRequest } from "../errors.ts";
import { goQuote } from "../field-error.ts";
import type { ApiObject, StoreReader, StrategyContext, UserInfo } from "../hooks.ts";
import { header, type ServerRequest } from "../http/message.ts";
import type { RequestInfo } from "../http/request-info.ts";
import { type ApiResource, type ApiVersion, apiVersionText } from "../registry/api-resource.ts";
import type { FieldValidation } from "./options.ts";

export interface Exchange {
  readonly request: ServerRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly resource: ApiResource;
  readonly version: ApiVersion;
  /** Becomes Warning headers, each once, in order. */
  readonly warnings: Set<string>;
}

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly reader: StoreReader;
}

export function strategyContext(exchange: Exchange, world: World, dryRun: boolean): StrategyContext {
  return {
    user: exchange.user,
    clock: world.clock,
    random: world.random,
    store: world.reader,
    version: exchange.version.name,
    namespace: namespaceOf(exchange),
    dryRun,
  };
}

/** A namespace's own path has it as the namespace too; as an object it is in none. */
export function namespaceOf({ info, resource }: Exchange): string {
  return resource.namespaced ? info.namespace : "";
}

export async function readBody(exchange: Exchange, kind = exchange.resource.kind): Promise<DecodedBody> {
  const { request, resource } = exchange;
  const bytes = await request.body();
  return decodeBody(bytes, header(request.headers, "content-type"), { kind, custom: resource.custom });
}

/**
 * A draft of the resource from a body: decoded, its kind checked, defaults filled in. What strict decoding
 * finds is refused, warned about or ignored as the client asked.
 */
export function draftFrom(exchange: Exchange, body: DecodedBody, validation: FieldValidation): ApiObject {
  const { resource, version } = exchange;
  checkKind(exchange, body.value);
  const strict: string[] = [];
  const draft = decodeObject(exchange, body.value, strict);
  const problems = [
    ...body.duplicates.map((path) => `duplicate field ${goQuote(path)}`),
    ...strict.map((path) => `unknown field ${goQuote(path)}`),
  ];
  reportStrict(exchange, problems, validation);
  resource.type.default(draft, version.name);
  return draft;
}

export function decodeObject(exchange: Exchange, value: JsonValue, strict: string[]): ApiObject {
  return exchange.resource.type.decode(value, exchange.version.name, strict);
}

export function reportStrict(
  exchange: Exchange,
  problems: readonly string[],
  validation: FieldValidation,
): void {
  if (problems.length === 0 || validation === "Ignore") return;
  const { resource, version, warnings } = exchange;
  if (validation === "Strict")
    throw badRequest(
      `${resource.kind} in version ${goQuote(version.name)} cannot be handled as a ${resource.kind}: strict decoding error: ${problems.join(", ")}`,
    );
  for (const problem of problems) warnings.add(problem);
}

/** Throws 400 when the body says it is of another kind than the path. */
export function checkKind(exchange: Exchange, value: JsonValue): void {
  const { resource, version } = exchange;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const what = value === null ? "" : ` (got ${Array.isArray(value) ? "array" : typeof value})`;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; json parse error: json: cannot unmarshal${what} into Go value of type struct`,
    );
  }
  const body = value as JsonObject;
  const apiVersion = typeof body.apiVersion === "string" ? body.apiVersion : "";
  const kind = typeof body.kind === "string" ? body.kind : "";
  const expected = apiVersionText(resource, version.name);
  if ((apiVersion === "" || apiVersion === expected) && (kind === "" || kind === resource.kind)) return;
  const given = kind || resource.kind;
  const givenVersion = apiVersion || expected;
  const shortVersion = givenVersion.slice(givenVersion.indexOf("/") + 1);
  if (kind === "" || kind === resource.kind) {
    const [group] = givenVersion.includes("/") ? givenVersion.split("/") : [""];
    if (group === resource.group && resource.versions.has(shortVersion))
      throw badRequest(
        `the API version in the data (${givenVersion}) does not match the expected API version (${expected})`,
      );
    throw badRequest(
      `${given} in version ${goQuote(shortVersion)} cannot be handled as a ${resource.kind}: no kind ${goQuote(given)} is registered for version ${goQuote(givenVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    );
  }
  throw badRequest(
    `${given} in version ${goQuote(shortVersion)} cannot be handled as a ${resource.kind}: converting (${shortVersion}.${given}) to (${resource.group || "core"}.${resource.kind}): unknown conversion`,
  );
}

/** The name in the body must be the path's, or absent. */
export function checkName(exchange: Exchange, draft: ApiObject): void {
  const { name } = exchange.info;
  const meta = draft.metadata;
  if (!meta.name) meta.name = name;
  else if (meta.name !== name)
    throw badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${name})`);
}
