/** URLs: `url("…")` and its parts. */

import { stringTraversalFactor } from "../../check/cost.ts";
import { type CostModel, type FunctionDecl, type Library, member, overload } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { scale } from "../../values/cost-range.ts";
import { type CelType, listType, mapType, objectType, types } from "../../values/types.ts";
import { ArrayList, type CelValue, EntryMap, type Fault, fault, Opaque } from "../../values/values.ts";
import { parseCost, unitCost } from "./costs.ts";
import {
  checkRequestUri,
  escapedPath,
  type ParsedUrl,
  parseUrl,
  queryParameters,
  splitHost,
  UrlError,
  urlText,
} from "./url-text.ts";

const { bool, string } = types;

const urlType: CelType = {
  ...objectType("kubernetes.URL"),
  equalityCost: (right) => scale({ min: 1, max: right?.max ?? 1 }, stringTraversalFactor),
};

class UrlValue extends Opaque {
  readonly type = urlType;
  readonly url: ParsedUrl;

  constructor(url: ParsedUrl) {
    super();
    this.url = url;
  }

  equals(other: CelValue): boolean | Fault {
    return other instanceof UrlValue ? urlText(this.url) === urlText(other.url) : noSuchOverload;
  }
}

function read([text]: readonly CelValue[]): CelValue {
  if (typeof text !== "string") return noSuchOverload;
  const url = parseUrl(text);
  if (url instanceof UrlError) return fault(`URL parse error during conversion from string: ${url.message}`);
  return new UrlValue(url);
}

function part(name: string, id: string, result: CelType, take: (url: ParsedUrl) => CelValue): FunctionDecl {
  const impl = ([value]: readonly CelValue[]): CelValue =>
    value instanceof UrlValue ? take(value.url) : noSuchOverload;
  return { name, cost: unitCost, overloads: [member(id, [urlType], result, impl)] };
}

function query(url: ParsedUrl): CelValue {
  const parameters = queryParameters(url.query);
  return EntryMap.of([...parameters].map(([key, values]) => [key, new ArrayList(values)] as const));
}

/** A URL is as long as the text it came from. */
const urlCost: CostModel = {
  ...parseCost,
  estimate: ({ args, size }) => {
    if (args[0] === undefined) return undefined;
    const resultSize = size(args[0]);
    return { ...scale(resultSize, stringTraversalFactor), resultSize };
  },
};

export const urlLibrary: Library = {
  name: "kubernetes.urls",
  functions: [
    { name: "url", cost: urlCost, overloads: [overload("string_to_url", [string], urlType, read)] },
    {
      name: "isURL",
      overloads: [
        overload("is_url_string", [string], bool, ([text]) =>
          typeof text === "string" ? checkRequestUri(text) === undefined : noSuchOverload,
        ),
      ],
    },
    part("getScheme", "url_get_scheme", string, (url) => url.scheme),
    part("getHost", "url_get_host", string, (url) => url.host),
    part("getHostname", "url_get_hostname", string, (url) => splitHost(url.host).hostname),
    part("getPort", "url_get_port", string, (url) => splitHost(url.host).port),
    part("getEscapedPath", "url_get_escaped_path", string, (url) => escapedPath(url.rawPath)),
    part("getQuery", "url_get_query", mapType(string, listType(string)), query),
  ],
};
