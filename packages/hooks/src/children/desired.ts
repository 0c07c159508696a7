/** From what a hook answered to the children that should be: each is checked before anything is written. */
import {
  type AnyKind,
  apiVersionOf,
  groupKind,
  type JsonObject,
  type JsonValue,
  keyOf,
  type ObjectMeta,
  type OwnerReference,
  type Stored,
} from "@keelson/core";
import { HookError } from "../errors.ts";
import type { ChildRule } from "./child-rule.ts";

/** Children with a higher number are made after all with a lower one are ready, and go before them. */
export const waveAnnotation = "hooks.keelson.dev/wave";

/** A child as its hook asks for it. */
export interface DesiredChild {
  readonly rule: ChildRule;
  /** `namespace/name`. */
  readonly key: string;
  readonly wave: number;
  /** It stays as it is for now, whatever it is. */
  readonly asIs?: boolean;
  /** What is applied. */
  readonly body: JsonObject & { readonly metadata: JsonObject };
}

/** What the children of a parent are made with. */
export interface DesiredOptions {
  /** Names the hook in errors. */
  readonly what: string;
  readonly parent: Stored;
  readonly parentKind: AnyKind;
  readonly rules: readonly ChildRule[];
  /** The field of the definition that names the kinds of children. */
  readonly field: "spec.childResources" | "spec.attachments";
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Fields that the server keeps: a hook that copies an object it was sent does not mean them. */
const serverFields = [
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
];

/** Throws for the first child that cannot be made as asked. */
export function desiredChildren(given: readonly JsonObject[], options: DesiredOptions): DesiredChild[] {
  const seen = new Set<string>();
  return given.map((object, index) => {
    const child = desiredChild(object, index, options);
    const id = `${groupKind(child.rule.kind)} ${child.key}`;
    if (seen.has(id)) throw new HookError("InvalidChild", `${options.what} asks for ${id} twice`);
    seen.add(id);
    return child;
  });
}

function desiredChild(object: JsonObject, index: number, options: DesiredOptions): DesiredChild {
  const { what, parent, parentKind, rules, field } = options;
  const { apiVersion, kind, metadata: given, status: _, ...rest } = object;
  const place = `child ${index + 1}`;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || apiVersion === "" || kind === "") {
    throw new HookError("InvalidChild", `${what} asks for ${place} without apiVersion and kind`);
  }
  const rule = rules.find((each) => apiVersionOf(each.kind) === apiVersion && each.kind.kind === kind);
  if (!rule) {
    throw new HookError(
      "InvalidChild",
      `${what} asks for a ${kind} of ${apiVersion}, which ${field} does not name; add it there`,
    );
  }
  const metadata = (given ?? {}) as ObjectMeta & JsonObject;
  const { name } = metadata;
  if (typeof name !== "string" || name === "") {
    throw new HookError("InvalidChild", `${what} asks for a ${kind} without metadata.name`);
  }
  const namespace = namespaceOf(rule.kind, name, metadata.namespace, options);
  const kept = Object.fromEntries(Object.entries(metadata).filter(([key]) => !serverFields.includes(key)));
  const labels = { ...options.labels, ...metadata.labels };
  const annotations = { ...metadata.annotations, ...options.annotations };
  const owners = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== parent.metadata.uid);
  const body = {
    ...(withoutNull(rest) as JsonObject),
    apiVersion,
    kind,
    metadata: {
      ...(withoutNull(kept as JsonObject) as JsonObject),
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [...owners, controllerReference(parentKind, parent)] as unknown as JsonObject[],
    },
  };
  return { rule, key: keyOf({ namespace, name }), wave: waveOf(annotations, `${kind} ${name}`), body };
}

/** Where a child lives: beside a parent that has a namespace, and where the hook says when it has none. */
function namespaceOf(
  kind: AnyKind,
  name: string,
  wanted: unknown,
  { what, parent }: DesiredOptions,
): string | undefined {
  const home = parent.metadata.namespace;
  const child = `${groupKind(kind)} ${name}`;
  if (kind.scope === "Cluster") {
    if (home === undefined) return undefined;
    throw new HookError(
      "InvalidChild",
      `${what} asks for ${child}, which has no namespace, for a parent in namespace ${home}: a parent in a ` +
        "namespace can only own objects beside it",
    );
  }
  const given = typeof wanted === "string" && wanted !== "" ? wanted : home;
  if (given === undefined) {
    throw new HookError(
      "InvalidChild",
      `${what} asks for ${child} without metadata.namespace, and its parent has none to give`,
    );
  }
  if (home === undefined || given === home) return given;
  throw new HookError(
    "InvalidChild",
    `${what} asks for ${child} in namespace ${given}, and its parent is in ${home}: a parent in a namespace can ` +
      "only own objects beside it",
  );
}

/** The owner reference of a parent. */
export function controllerReference(kind: AnyKind, parent: Stored): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: parent.metadata.name,
    uid: parent.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The wave of an object; 0 when it names none. */
export function waveOf(annotations: Readonly<Record<string, string>> | undefined, what: string): number {
  const text = annotations?.[waveAnnotation];
  if (text === undefined) return 0;
  if (/^-?\d+$/.test(text)) return Number(text);
  throw new HookError(
    "InvalidChild",
    `the annotation ${waveAnnotation} of ${what} is ${JSON.stringify(text)}, no number`,
  );
}

/** A field of null is one that the hook leaves out. Entries of lists stay. */
function withoutNull(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== null)
      .map(([key, each]) => [key, withoutNull(each)]),
  );
}
