/** Objects of the cluster as expressions see them through their schemas. Nothing is copied: fields are read when asked for. */
import { CelList, CelMap, type CelValue, Double, fromJson, parseFormattedDuration } from "@keelson/cel";
import {
  escapeName,
  parseFormattedBytes,
  parseFormattedDate,
  parseFormattedDateTime,
} from "@keelson/cel/internal";
import { isObject } from "@keelson/core/internal";
import {
  fieldOf,
  isIntOrString,
  itemsOf,
  type OpenApiSchema,
  type RootedSchema,
  type Schemas,
  typesOf,
} from "../openapi/schema.ts";

/** A value of JSON: where the schema says more than JSON does (dates, bytes, decimals), the value is of that type. */
export function celValue(json: unknown, rooted: RootedSchema | undefined): CelValue {
  if (rooted === undefined || json === null || json === undefined) return fromJson(json);
  const { schema, schemas } = rooted;
  if (isIntOrString(schema)) return fromJson(json);
  if (Array.isArray(json)) return new JsonList(json, itemsOf(rooted), schemas);
  if (isObject(json)) return new JsonFields(json as Record<string, unknown>, rooted);
  const [type, ...others] = typesOf(schema);
  if (others.length > 0) return fromJson(json);
  if (typeof json === "string" && type === "string") return formatted(json, schema.format);
  if (typeof json === "number" && type === "number") return new Double(json);
  return fromJson(json);
}

/** Text that is not what its format says stays text: the function that needs the other says so. */
function formatted(text: string, format: string | undefined): CelValue {
  switch (format) {
    case "byte":
      return parseFormattedBytes(text) ?? text;
    case "date":
      return parseFormattedDate(text) ?? text;
    case "date-time":
      return parseFormattedDateTime(text) ?? text;
    case "duration":
      return parseFormattedDuration(text) ?? text;
    default:
      return text;
  }
}

class JsonList extends CelList {
  readonly #json: readonly unknown[];
  readonly #items: RootedSchema;

  constructor(json: readonly unknown[], schema: OpenApiSchema, schemas: Schemas) {
    super();
    this.#json = json;
    this.#items = { schema, schemas };
  }

  override get size(): number {
    return this.#json.length;
  }

  override at(index: number): CelValue {
    return celValue(this.#json[index], this.#items);
  }
}

class JsonFields extends CelMap {
  readonly #json: Readonly<Record<string, unknown>>;
  readonly #rooted: RootedSchema;

  constructor(json: Readonly<Record<string, unknown>>, rooted: RootedSchema) {
    super();
    this.#json = json;
    this.#rooted = rooted;
  }

  override get size(): number {
    return Object.keys(this.#json).length;
  }

  override find(key: CelValue): CelValue | undefined {
    const name = typeof key === "string" ? this.#named(key) : undefined;
    if (name === undefined) return undefined;
    const schema = fieldOf(this.#rooted, name);
    return celValue(this.#json[name], schema && { schema, schemas: this.#rooted.schemas });
  }

  override keys(): Iterable<CelValue> {
    return Object.keys(this.#json);
  }

  /** The name in JSON for a name in an expression: `__namespace__` and `a__dash__b` are escaped. */
  #named(key: string): string | undefined {
    if (Object.hasOwn(this.#json, key)) return key;
    if (!key.includes("__")) return undefined;
    return Object.keys(this.#json).find((each) => escapeName(each) === key);
  }
}
