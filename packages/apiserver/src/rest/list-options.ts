/** The query of lists and watches. */

import { type FieldError, forbiddenField, goQuote, notSupportedField } from "../contracts/field-error.ts";
import { badRequest, failure, invalid } from "../contracts/status-error.ts";
import { isTrue } from "../messages/request-info.ts";

export interface ListOptions {
  readonly watch: boolean;
  readonly bookmarks: boolean;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds: number | undefined;
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents: boolean | undefined;
}

/** Throws 422 for combinations that mean nothing. */
export function parseListOptions(query: URLSearchParams, watch: boolean): ListOptions {
  const resourceVersion = query.get("resourceVersion") ?? "";
  const options: ListOptions = {
    watch,
    bookmarks: isTrue(query.get("allowWatchBookmarks")),
    resourceVersion,
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    timeoutSeconds: integer(query, "timeoutSeconds"),
    // Any state will do for version 0, and the cache that has it knows no pages.
    limit: resourceVersion === "0" ? 0 : (integer(query, "limit") ?? 0),
    continue: query.get("continue") ?? "",
    sendInitialEvents: query.has("sendInitialEvents") ? isTrue(query.get("sendInitialEvents")) : undefined,
  };
  const errors = watch ? watchErrors(options) : listErrors(options);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
  return options;
}

function listErrors(options: ListOptions): FieldError[] {
  const match = options.resourceVersionMatch;
  const errors: FieldError[] = [];
  const field = "resourceVersionMatch";
  if (match) {
    if (!options.resourceVersion)
      errors.push(
        forbiddenField(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
      );
    if (options.continue)
      errors.push(forbiddenField(field, "resourceVersionMatch is forbidden when continue is provided"));
    if (match !== "Exact" && match !== "NotOlderThan")
      errors.push(notSupportedField(field, match, ["Exact", "NotOlderThan", ""]));
    if (match === "Exact" && options.resourceVersion === "0")
      errors.push(forbiddenField(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  if (options.sendInitialEvents !== undefined)
    errors.push(forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  return errors;
}

function watchErrors(options: ListOptions): FieldError[] {
  const match = options.resourceVersionMatch;
  const errors: FieldError[] = [];
  const field = "resourceVersionMatch";
  if (options.sendInitialEvents !== undefined && match !== "NotOlderThan")
    errors.push(
      forbiddenField(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
    );
  if (match) {
    if (options.sendInitialEvents === undefined)
      errors.push(
        forbiddenField(
          field,
          "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
      );
    if (match !== "NotOlderThan") errors.push(notSupportedField(field, match, ["NotOlderThan"]));
  }
  // A watch from no version in particular is one with initial events.
  const fromAny = options.resourceVersion === "" || options.resourceVersion === "0";
  if (options.continue && (match || fromAny))
    errors.push(forbiddenField(field, "resourceVersionMatch is forbidden when continue is provided"));
  return errors;
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`);
  return Number(text);
}

/** A revision from a list's resourceVersion; `undefined` when it is empty. Throws 400 for anything but a number. */
export function parseRevision(text: string): number | undefined {
  if (text === "") return undefined;
  const wrong = revisionError(text);
  if (wrong) throw badRequest(`invalid resource version: ${wrong}`);
  return Number(text);
}

/** As `parseRevision`, for gets and watches, where a bad version is an error of the server's own. */
export function parseRevisionOrFail(text: string): number | undefined {
  if (text === "") return undefined;
  const wrong = revisionError(text);
  if (wrong) throw failure({ code: 500, reason: "", message: wrong });
  return Number(text);
}

function revisionError(text: string): string | undefined {
  const digits = /^\d+$/.test(text);
  if (digits && BigInt(text) < 2n ** 64n) return undefined;
  const why = digits ? "value out of range" : "invalid syntax";
  return `resourceVersion: Invalid value: ${goQuote(text)}: strconv.ParseUint: parsing ${goQuote(text)}: ${why}`;
}
