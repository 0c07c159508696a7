/** The shape of what hooks answer, checked field by field. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { HookError } from "../errors.ts";
import type { HookClient } from "./hook-client.ts";

/** What a sync or finalize hook of a CompositeController says. */
export interface CompositeAnswer {
  /** Null when the hook says nothing of it. */
  readonly status: JsonObject | null;
  readonly children: readonly JsonObject[];
  readonly resyncAfterSeconds: number;
  readonly finalized: boolean;
}

/** What a sync or finalize hook of a DecoratorController says. A label or annotation of null is to go. */
export interface DecoratorAnswer {
  readonly labels: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly status: JsonObject | null;
  readonly attachments: readonly JsonObject[];
  readonly resyncAfterSeconds: number;
  readonly finalized: boolean;
}

/** Which objects a parent wants to know about, as a customize hook says it. */
export interface RelatedRule {
  readonly apiVersion: string;
  readonly resource: string;
  readonly labelSelector?: JsonObject;
  readonly namespaceSelector?: JsonObject;
  readonly namespace?: string;
  readonly names: readonly string[];
}

export function compositeAnswer(answer: JsonObject, hook: HookClient): CompositeAnswer {
  const known = ["status", "children", "resyncAfterSeconds", "finalized"];
  refuseForeign(answer, known, hook);
  refuseUnknown(answer, known, hook, "");
  return {
    status: map(answer.status, "status", hook),
    children: objects(answer.children, "children", hook),
    resyncAfterSeconds: number(answer.resyncAfterSeconds, "resyncAfterSeconds", hook),
    finalized: flag(answer.finalized, "finalized", hook),
  };
}

export function decoratorAnswer(answer: JsonObject, hook: HookClient): DecoratorAnswer {
  const known = ["labels", "annotations", "status", "attachments", "resyncAfterSeconds", "finalized"];
  refuseForeign(answer, known, hook);
  refuseUnknown(answer, known, hook, "");
  return {
    labels: strings(answer.labels, "labels", hook),
    annotations: strings(answer.annotations, "annotations", hook),
    status: map(answer.status, "status", hook),
    attachments: objects(answer.attachments, "attachments", hook),
    resyncAfterSeconds: number(answer.resyncAfterSeconds, "resyncAfterSeconds", hook),
    finalized: flag(answer.finalized, "finalized", hook),
  };
}

export function customizeAnswer(answer: JsonObject, hook: HookClient): readonly RelatedRule[] {
  refuseForeign(answer, ["relatedResources"], hook);
  refuseUnknown(answer, ["relatedResources"], hook, "");
  return objects(answer.relatedResources, "relatedResources", hook).map((rule, index) => {
    const path = `relatedResources[${index}]`;
    const known = ["apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"];
    refuseUnknown(rule, known, hook, `${path}.`);
    const labels = map(rule.labelSelector, `${path}.labelSelector`, hook);
    const namespaces = map(rule.namespaceSelector, `${path}.namespaceSelector`, hook);
    const namespace = text(rule.namespace ?? "", `${path}.namespace`, hook);
    const names = (rule.names ?? []) as JsonValue;
    if (!Array.isArray(names)) throw wrong(hook, `${path}.names`, "a list", names);
    return {
      apiVersion: text(rule.apiVersion, `${path}.apiVersion`, hook),
      resource: text(rule.resource, `${path}.resource`, hook),
      ...(labels && { labelSelector: labels }),
      ...(namespaces && { namespaceSelector: namespaces }),
      ...(namespace === "" ? {} : { namespace }),
      names: names.map((name, at) => text(name, `${path}.names[${at}]`, hook)),
    };
  });
}

/** What has fields and none that is known is no answer of a hook's: taken for one, it would empty everything. */
function refuseForeign(answer: JsonObject, known: readonly string[], hook: HookClient): void {
  const fields = Object.keys(answer);
  if (fields.length === 0 || fields.some((field) => known.includes(field))) return;
  throw new HookError(
    "BadAnswer",
    `${hook.what} answered with ${fields.slice(0, 5).join(", ")} and with none of ${known.join(", ")}`,
  );
}

function refuseUnknown(answer: JsonObject, known: readonly string[], hook: HookClient, path: string): void {
  const unknown = hook.strict ? Object.keys(answer).find((field) => !known.includes(field)) : undefined;
  if (unknown === undefined) return;
  throw new HookError("BadAnswer", `${hook.what} answered with the unknown field ${path}${unknown}`);
}

function isMap(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function map(value: JsonValue | undefined, path: string, hook: HookClient): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (!isMap(value)) throw wrong(hook, path, "an object", value);
  return value;
}

function objects(value: JsonValue | undefined, path: string, hook: HookClient): JsonObject[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong(hook, path, "a list", value);
  return value.map((item, index) => {
    if (!isMap(item)) throw wrong(hook, `${path}[${index}]`, "an object", item);
    return item;
  });
}

function number(value: JsonValue | undefined, path: string, hook: HookClient): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== "number") throw wrong(hook, path, "a number", value);
  return value;
}

function flag(value: JsonValue | undefined, path: string, hook: HookClient): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw wrong(hook, path, "true or false", value);
  return value;
}

function text(value: JsonValue | undefined, path: string, hook: HookClient): string {
  if (typeof value !== "string") throw wrong(hook, path, "a text", value ?? null);
  return value;
}

function strings(
  value: JsonValue | undefined,
  path: string,
  hook: HookClient,
): Record<string, string | null> {
  const found = map(value, path, hook) ?? {};
  for (const [key, each] of Object.entries(found)) {
    if (each !== null && typeof each !== "string")
      throw wrong(hook, `${path}.${key}`, "a text or null", each);
  }
  return found as Record<string, string | null>;
}

function wrong(hook: HookClient, path: string, wanted: string, value: JsonValue): HookError {
  const given = JSON.stringify(value);
  const short = given.length > 100 ? `${given.slice(0, 100)}…` : given;
  return new HookError("BadAnswer", `${hook.what} answered with ${path} ${short}, which must be ${wanted}`);
}
