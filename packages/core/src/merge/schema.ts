/**
 * The types that patches and server-side apply need to know: what is a leaf, what merges, and by which keys.
 *
 * A {@link TypeRef} is lazy: its {@link Atom} is made on first use and kept, so that a document of 700
 * definitions costs only what is touched, and types may contain themselves.
 */

import { deepFreeze } from "../json.ts";
import { lookupTable } from "../lookup-table.ts";
import type { JsonObject, JsonValue } from "../object.ts";

/** A single value. */
export type Scalar = "numeric" | "string" | "boolean" | "untyped";

/** A list is atomic (one leaf), a set of scalars (no keys), or a map by its keys. */
export interface ListType {
  readonly atomic: boolean;
  readonly keys: readonly string[];
  readonly element: TypeRef;
}

/** A map or an object with named fields; `element` is the type of keys that are not named, if any may be. */
export interface MapType {
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, Field>;
  readonly element: TypeRef | undefined;
}

/** A field of a struct type. */
export interface Field {
  readonly type: TypeRef;
  readonly default?: JsonValue;
  readonly required?: boolean;
  /** Of strategic merge patch: `merge`, `replace`, `retainKeys`. */
  readonly patchStrategies?: readonly string[];
  readonly patchMergeKey?: string;
}

/** The forms a value may take; more than one only where the type is open. */
export interface Atom {
  readonly scalar?: Scalar;
  readonly list?: ListType;
  readonly map?: MapType;
}

/** A type of the merge schema, by reference. */
export class TypeRef {
  /** The definition's name; undefined when the type is written in place. */
  readonly name: string | undefined;
  #atom: Atom | undefined;
  #make: (() => Atom) | undefined;

  constructor(make: () => Atom, name?: string) {
    this.#make = make;
    this.name = name;
  }

  get atom(): Atom {
    if (this.#atom === undefined) {
      this.#atom = (this.#make as () => Atom)();
      this.#make = undefined;
    }
    return this.#atom;
  }
}

const noFields: ReadonlyMap<string, Field> = new Map();

/** Any value, and a list or a map is one leaf. */
export const untypedAtomic: TypeRef = new TypeRef(
  () => ({
    scalar: "untyped",
    list: { atomic: true, keys: [], element: untypedAtomic },
    map: { atomic: true, fields: noFields, element: untypedAtomic },
  }),
  "__untyped_atomic_",
);

/** Any value: maps merge key by key, lists are leaves. What preserved unknown fields get. */
export const deduced: TypeRef = new TypeRef(
  () => ({
    scalar: "untyped",
    list: { atomic: true, keys: [], element: untypedAtomic },
    map: { atomic: false, fields: noFields, element: deduced },
  }),
  "__untyped_deduced_",
);

/** The type of a single value. */
export function scalarType(scalar: Scalar): TypeRef {
  return new TypeRef(() => ({ scalar }));
}

/** The type of lists, with how they merge. */
export function listType(
  element: TypeRef,
  how: "atomic" | "set" | { readonly keys: readonly string[] },
): TypeRef {
  return new TypeRef(() => ({
    list: { atomic: how === "atomic", keys: typeof how === "object" ? how.keys : [], element },
  }));
}

/** The type of maps, with how they merge. */
export function mapType(element: TypeRef | undefined, how: "granular" | "atomic" = "granular"): TypeRef {
  return new TypeRef(() => ({ map: { atomic: how === "atomic", fields: noFields, element } }));
}

/** An object with named fields only. A field may be a type, or a {@link Field} with more to say. */
export function structType(
  fields: Readonly<Record<string, TypeRef | Field>>,
  how: "granular" | "atomic" = "granular",
): TypeRef {
  return new TypeRef(() => ({
    map: {
      atomic: how === "atomic",
      fields: new Map(
        Object.entries(fields).map(([name, field]) => [
          name,
          field instanceof TypeRef ? { type: field } : field,
        ]),
      ),
      element: undefined,
    },
  }));
}

/** The type of a field or key of a map; undefined when the map may not have it. */
export function typeOfField(map: MapType, name: string): TypeRef | undefined {
  return map.fields.get(name)?.type ?? map.element;
}

/** Whether a map has nothing but open content: its ownership is never reconciled with the schema. */
export function isOpenMap(map: MapType): boolean {
  const element = map.element;
  if (element === undefined || map.fields.size > 0) return false;
  return element === deduced || (element.name === undefined && element.atom.scalar === "untyped");
}

const text = scalarType("string");
const time = scalarType("untyped");
const numeric = scalarType("numeric");
const flag = scalarType("boolean");

/** `metadata`, which is the same everywhere. */
export const objectMetaType: TypeRef = structType({
  annotations: mapType(text),
  creationTimestamp: time,
  deletionGracePeriodSeconds: numeric,
  deletionTimestamp: time,
  finalizers: { type: listType(text, "set"), patchStrategies: ["merge"] },
  generateName: text,
  generation: numeric,
  labels: mapType(text),
  managedFields: listType(
    structType({
      apiVersion: text,
      fieldsType: text,
      fieldsV1: mapType(deduced),
      manager: text,
      operation: text,
      subresource: text,
      time,
    }),
    "atomic",
  ),
  name: text,
  namespace: text,
  ownerReferences: {
    type: listType(
      structType(
        {
          apiVersion: { type: text, default: "", required: true },
          blockOwnerDeletion: flag,
          controller: flag,
          kind: { type: text, default: "", required: true },
          name: { type: text, default: "", required: true },
          uid: { type: text, default: "", required: true },
        },
        "atomic",
      ),
      { keys: ["uid"] },
    ),
    patchStrategies: ["merge"],
    patchMergeKey: "uid",
  },
  resourceVersion: text,
  selfLink: text,
  uid: text,
});

const zeros = new WeakMap<TypeRef, JsonObject>();

/** Required fields that are absent rather than null before the first write, against the rule. */
const requiredButOmitted: Readonly<Record<string, readonly string[]>> = lookupTable({
  "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec": [
    "policyName",
    "validationActions",
  ],
  "io.k8s.api.coordination.v1alpha2.LeaseCandidateSpec": ["strategy"],
  "io.k8s.api.coordination.v1beta1.LeaseCandidateSpec": ["strategy"],
  "io.k8s.api.networking.v1.IPAddressSpec": ["parentRef"],
  "io.k8s.api.networking.v1beta1.IPAddressSpec": ["parentRef"],
});

/** Fields that are null in Go's JSON where nothing was given, although the schema does not require them. */
const optionalButNull: Readonly<Record<string, readonly string[]>> = lookupTable({
  "io.k8s.api.core.v1.Event": ["eventTime", "firstTimestamp", "lastTimestamp"],
  "io.k8s.api.discovery.v1.EndpointSlice": ["endpoints", "ports"],
  "io.k8s.api.events.v1.Event": ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"],
  "io.k8s.api.rbac.v1.ClusterRole": ["rules"],
  "io.k8s.api.rbac.v1.Role": ["rules"],
  "io.k8s.api.resource.v1.DeviceClaim": ["requests"],
});

/**
 * What an object of this type looks like before anyone wrote to it, in the API server's memory: nested
 * objects that are always there are empty rather than absent, required lists and references are null.
 * A create is recorded as a change from this. Frozen, and made once per type.
 */
export function zeroObject(type: TypeRef): JsonObject {
  let zero = zeros.get(type);
  if (zero === undefined) {
    zero = deepFreeze(makeZero(type));
    zeros.set(type, zero);
  }
  return zero;
}

function makeZero(type: TypeRef): JsonObject {
  const out: JsonObject = {};
  const omitted = requiredButOmitted[type.name ?? ""] ?? [];
  for (const [name, field] of type.atom.map?.fields ?? []) {
    const { default: value, required } = field;
    if (omitted.includes(name)) continue;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      out[name] = makeZero(field.type);
    else if (value === 0 || value === "" || value === false) out[name] = value;
    else if (required === true && value === undefined) out[name] = null;
  }
  for (const name of optionalButNull[type.name ?? ""] ?? []) out[name] = null;
  return out;
}
