/** Conversions as an assertion: there and back again, for many objects, and nothing is lost. */
import { deepEqual, type JsonObject, type JsonValue, type KubeObject, parseJson } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { Resource } from "@keelson/schema";
import { sampleObject } from "@keelson/schema/internal";
import { SeededRandom } from "./seeded-random.ts";
import { VersionSchemas } from "./version-schemas.ts";

/** How many objects are sent through the conversions, and from which seed. */
export interface RoundTripOptions {
  /** Objects for each version and direction. Default: 200. */
  readonly runs?: number;
  /** Default: 1. */
  readonly seed?: number;
  /** Values for strings by path, where a pattern is beyond the generator: `{ "spec.image": ["redis:7"] }`. */
  readonly strings?: Readonly<Record<string, readonly string[]>>;
  /** Objects to try beside the random ones, of any version. */
  readonly examples?: readonly KubeObject[];
}

/** What was lost on the way to the stored version and back. */
export interface RoundTripReport {
  /** Round trips made. */
  readonly trips: number;
}

/**
 * Sends random objects of every version to the stored one and back, and random stored objects to every version and
 * back. Throws with the first object that came back different: which field, what it was, what it became; and with the
 * first that is not valid at the version in between, by its schema and its rules.
 */
export function checkRoundTrip(resource: Resource, options: RoundTripOptions = {}): RoundTripReport {
  const { runs = 200, seed = 1, strings = {}, examples = [] } = options;
  const { version: stored } = resource;
  const others = Object.keys(resource.versions).filter((version) => version !== stored);
  const schemas = new VersionSchemas(resource);
  let trips = 0;
  const travel = (object: KubeObject, via: string, which: string) => {
    trips++;
    const home = object.apiVersion?.split("/").pop() ?? "";
    const convert = (from: KubeObject, to: string) => {
      const made = resource.convert(from, to);
      const refused = schemas.problem(plain(from) as JsonObject, plain(made) as JsonObject, to);
      if (refused === undefined) return made;
      throw new Error(
        `${resource.kind} becomes something that ${to} does not take (${which} of ${home}): ${refused}; the object ` +
          `was ${JSON.stringify(object)}`,
      );
    };
    const back = convert(convert(object, via), home);
    const lost = difference(plain(object), plain(back), "");
    if (lost === undefined) return;
    throw new Error(
      `${resource.kind} loses something on its way ${home} → ${via} → ${home} (${which}): ${lost}; the object was ` +
        JSON.stringify(object),
    );
  };
  for (const other of others) {
    for (const [from, via] of [
      [other, stored],
      [stored, other],
    ] as const) {
      for (const example of examples) {
        if (example.apiVersion === `${resource.group}/${from}`) travel(example, via, "an example");
      }
      const random = new SeededRandom(seed, `${from}/${via}`);
      for (let run = 1; run <= runs; run++) {
        const object = sampleObject(resource, { random, version: from, strings });
        travel(object, via, `seed ${seed}, object ${run}`);
      }
    }
  }
  return { trips };
}

/** As JSON carries it: what is undefined is absent. */
function plain(value: unknown): JsonValue {
  return parseJson(JSON.stringify(value));
}

function difference(before: JsonValue, after: JsonValue | undefined, path: string): string | undefined {
  if (deepEqual(before, after)) return undefined;
  if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const at = path === "" ? key : `${path}.${key}`;
      if (!(key in before)) return `${at} was absent and became ${JSON.stringify(after[key])}`;
      const found = difference(before[key] as JsonValue, after[key], at);
      if (found !== undefined) return found;
    }
  }
  return `${path} was ${JSON.stringify(before)} and became ${after === undefined ? "absent" : JSON.stringify(after)}`;
}
