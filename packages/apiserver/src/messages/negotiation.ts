/** Chooses the form of an answer from the Accept header. */
import { noRepresentation, notAcceptable } from "../contracts/status-error.ts";

export type MediaType = "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf";

/** What the client asked to be shown instead of the object. */
export interface Transform {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | string;
  readonly group: string;
  readonly version: string;
}

export interface Negotiated {
  readonly mediaType: MediaType;
  readonly transform: Transform | undefined;
  readonly pretty: boolean;
  /** Who asks: with others, for their turn to have a long answer printed. Default: everybody. */
  readonly user?: string | undefined;
}

export const jsonOnly: Negotiated = Object.freeze({
  mediaType: "application/json",
  transform: undefined,
  pretty: false,
});

const protobuf = "application/vnd.kubernetes.protobuf";
const supported = ["application/json", "application/yaml", protobuf];
const streamed = ["application/json;stream=watch", `${protobuf};stream=watch`];

interface Clause {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
  readonly transform: Transform | undefined;
}

/** Clients send the same few headers over and over. */
const knownClauses = new Map<string, readonly Clause[]>();
const maxKnown = 100;

/** The clauses of an Accept header, best first; equals keep their order. */
export function parseAccept(accept: string): readonly Clause[] {
  let clauses = knownClauses.get(accept);
  if (!clauses) {
    clauses = readClauses(accept);
    if (knownClauses.size >= maxKnown) knownClauses.clear();
    knownClauses.set(accept, clauses);
  }
  return clauses;
}

function readClauses(accept: string): Clause[] {
  const clauses: Clause[] = [];
  for (const part of accept.split(",")) {
    const [type = "", ...rest] = part.split(";").map((piece) => piece.trim());
    if (type === "") continue;
    const parameters = new Map<string, string>();
    for (const piece of rest) {
      const equals = piece.indexOf("=");
      if (equals > 0) parameters.set(piece.slice(0, equals).trim(), piece.slice(equals + 1).trim());
    }
    const quality = parameters.has("q") ? Number(parameters.get("q")) : 1;
    clauses.push({
      type: type.toLowerCase(),
      quality: Number.isNaN(quality) ? 1 : quality,
      parameters,
      transform: transformOf(parameters),
    });
  }
  return clauses.sort((a, b) => b.quality - a.quality);
}

export interface NegotiationOptions {
  /** Whether the endpoint can show the transform; the default allows none. */
  readonly allows?: (transform: Transform) => boolean;
  /** What has a form in protobuf: whole objects, or nothing but bare metadata. The default is whole objects. */
  readonly protobuf?: "objects" | "metadata";
  /** The answer is a stream of events. */
  readonly stream?: boolean;
  /** Whether the route itself refuses what it does not produce, in its own words. */
  readonly routed?: boolean;
  readonly query?: URLSearchParams;
  readonly userAgent?: string | undefined;
  readonly user?: string;
}

/** The best form both sides know. Throws 406 when there is none. */
export function negotiate(accept: string | undefined, options: NegotiationOptions = {}): Negotiated {
  const pretty = isPretty(options);
  const { user } = options;
  if (!accept) return { ...jsonOnly, pretty, user };
  let known = false;
  for (const clause of parseAccept(accept)) {
    const mediaType = mediaTypeOf(clause.type);
    // A route knows its types, and anything, but no halves.
    if (!mediaType || (options.routed && clause.type === "application/*")) continue;
    known = true;
    const { transform } = clause;
    if (transform ? !options.allows?.(transform) : mediaType === protobuf && options.protobuf === "metadata")
      continue;
    if (transform?.kind === "Table" && mediaType === protobuf) continue;
    if (options.stream && mediaType === "application/yaml") throw notAcceptable(streamed);
    return { mediaType, transform, pretty: pretty || clause.parameters.get("pretty") === "1", user };
  }
  throw known || !options.routed ? notAcceptable(supported) : noRepresentation(supported);
}

/** Like `negotiate`, for errors: whatever the client accepts, it gets to read what went wrong. */
export function negotiateError(accept: string | undefined, options: NegotiationOptions = {}): Negotiated {
  try {
    return negotiate(accept, options);
  } catch {
    return { ...jsonOnly, pretty: true };
  }
}

function transformOf(parameters: ReadonlyMap<string, string>): Transform | undefined {
  const [kind, group, version] = ["as", "g", "v"].map((name) => parameters.get(name));
  if (kind === undefined && group === undefined && version === undefined) return undefined;
  return { kind: kind ?? "", group: group ?? "", version: version ?? "" };
}

function mediaTypeOf(type: string): MediaType | undefined {
  if (type === "*/*" || type === "application/*" || type === "application/json") return "application/json";
  if (type === "application/yaml" || type === protobuf) return type;
  return undefined;
}

const people = /^(curl|Wget|Mozilla\/5\.0)/;

function isPretty({ query, userAgent }: NegotiationOptions): boolean {
  const pretty = query?.get("pretty");
  if (pretty !== null && pretty !== undefined) return pretty !== "0" && pretty.toLowerCase() !== "false";
  return userAgent !== undefined && people.test(userAgent);
}

/** The transforms that endpoints of objects offer. */
export function isMetaTransform({ kind, group, version }: Transform): boolean {
  if (group !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) return false;
  return kind === "Table" || kind === "PartialObjectMetadata" || kind === "PartialObjectMetadataList";
}
