/** One request to one resource: what every verb is handed. */
import { type Clock, type JsonObject, type JsonValue, parseApiVersion, type Random } from "@keelson/core";
import { isObject, jsonType } from "../builtin/scalars.ts";
import { type DecodedBody, decodeBody, unrecognized } from "../codec/body.ts";
import type { UserInfo } from "../contracts/authentication.ts";
import { goQuote, goValue, invalidField } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, invalid } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import type { StrategyContext } from "../contracts/strategy.ts";
import { header, type ServerRequest } from "../messages/message.ts";
import type { RequestInfo } from "../messages/request-info.ts";
import { type ApiResource, type ApiVersion, apiVersionText } from "../registry/api-resource.ts";
import { definitionName } from "../tables/index.ts";
import type { FieldValidation } from "./options.ts";
import { strictProblems, warningsOf } from "./strict-problems.ts";

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
  const decoded = decodeBody(bytes, header(request.headers, "content-type"), {
    kind,
    custom: resource.custom,
    user: exchange.user.name,
  });
  return decoded instanceof Promise ? await decoded : decoded;
}

/**
 * A draft of the resource from a body: decoded, its kind checked, defaults filled in. What strict decoding
 * finds is refused, warned about or ignored as the client asked.
 */
export function draftFrom(exchange: Exchange, body: DecodedBody, validation: FieldValidation): ApiObject {
  const { resource, version } = exchange;
  checkKind(exchange, body);
  const strict: string[] = [];
  const draft = decodeObject(exchange, body.value, strict);
  if (body.duplicates.length > 0 || body.repeated.length > 0 || strict.length > 0)
    reportStrict(exchange, strictProblems(body, strict, resource.custom), validation);
  resource.type.default(draft, version.name);
  return draft;
}

export function decodeObject(exchange: Exchange, value: JsonValue, strict: string[]): ApiObject {
  return exchange.resource.type.decode(value ?? {}, exchange.version.name, strict);
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
  for (const problem of problems) for (const line of warningsOf(problem)) warnings.add(line);
}

/** Throws 400, or 422 for custom resources, when the body says it is of another kind than the path. */
export function checkKind(exchange: Exchange, body: DecodedBody): void {
  const { resource, version } = exchange;
  const { value } = body;
  if (value === null && !resource.custom) return;
  const fault = kindFault(value);
  if (fault) throw unrecognized(resource.kind, fault, body.source);
  if (!isObject(value)) return;
  const apiVersion = typeof value.apiVersion === "string" ? value.apiVersion : "";
  const kind = typeof value.kind === "string" ? value.kind : "";
  if (apiVersion.split("/").length > 2)
    throw unrecognized(resource.kind, `unexpected GroupVersion string: ${apiVersion}`, body.source);
  if (resource.custom) checkCustomKind(exchange, body, value, apiVersion, kind);
  else {
    const wrong = builtinKindError(exchange, apiVersion, kind);
    if (wrong)
      throw badRequest(
        `${kind || resource.kind} in version ${goQuote(versionPart(apiVersion || version.name))} cannot be handled as a ${resource.kind}: ${wrong}`,
      );
  }
}

/** Why no kind can be read from the value. */
export function kindFault(value: JsonValue): string | undefined {
  const fault = (found: string, where: string) =>
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go ${where}`;
  if (!isObject(value))
    return fault(
      jsonType(value),
      `value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    );
  if (isTextIfAny(value.kind) && isTextIfAny(value.apiVersion)) return undefined;
  // The first of the two in the body's order.
  for (const key in value) {
    if ((key === "kind" || key === "apiVersion") && !isTextIfAny(value[key]))
      return fault(jsonType(value[key] as JsonValue), `struct field .${key} of type string`);
  }
  return undefined;
}

function isTextIfAny(value: JsonValue | undefined): boolean {
  return typeof value === "string" || value === undefined || value === null;
}

function versionPart(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}

/** Why an object of that kind cannot be the resource's; `undefined` when it can. */
export function builtinKindError(
  { resource, version }: Exchange,
  apiVersion: string,
  kind: string,
): string | undefined {
  const expected = apiVersionText(resource, version.name);
  if ((apiVersion === "" || apiVersion === expected) && (kind === "" || kind === resource.kind))
    return undefined;
  const given = kind || resource.kind;
  const givenVersion = apiVersion || expected;
  const { group, version: short } = parseApiVersion(givenVersion);
  if (given !== resource.kind && definitionName({ group, version: short, kind: given }) !== undefined)
    return `converting (${versionPart(givenVersion)}.${given}) to (${resource.group || "core"}.${resource.kind}): unknown conversion`;
  if (given === resource.kind && group === resource.group && resource.versions.has(short))
    throw badRequest(
      `the API version in the data (${givenVersion}) does not match the expected API version (${expected})`,
    );
  return `no kind ${goQuote(given)} is registered for version ${goQuote(givenVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`;
}

function checkCustomKind(
  { resource, version, info }: Exchange,
  body: DecodedBody,
  value: JsonObject,
  apiVersion: string,
  kind: string,
): void {
  const missing = kind === "" ? "Kind" : apiVersion === "" ? "apiVersion" : undefined;
  if (missing) {
    const text = Buffer.from(body.source).toString();
    throw unrecognized(resource.kind, `Object '${missing}' is missing in '${text}'`, body.source);
  }
  const expected = apiVersionText(resource, version.name);
  if (apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  // A replace without a version is refused for that first, when it is known what it would replace.
  const { resourceVersion } = isObject(value.metadata) ? value.metadata : {};
  if (info.verb === "update" && !resourceVersion) return;
  refuseOtherKind(resource, value, apiVersion, kind);
}

/** Throws 422 when an object is not of the custom resource's kind. */
export function refuseOtherKind(
  resource: ApiResource,
  body: JsonObject,
  apiVersion: string,
  kind: string,
): void {
  if (kind === resource.kind) return;
  const name = isObject(body.metadata) ? goValue(body.metadata.name ?? "") : "";
  throw invalid({ group: parseApiVersion(apiVersion).group, kind }, name, [
    invalidField("kind", kind, `must be ${resource.kind}`),
  ]);
}

/** The name in the body must be the path's. */
export function checkName(exchange: Exchange, draft: ApiObject): void {
  const { name } = exchange.info;
  const meta = draft.metadata;
  if (!meta.name)
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (meta.name !== name)
    throw badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${name})`);
}
