/** Assignability between types, and what it teaches about type parameters. */
import {
  type CelType,
  isDynOrError,
  isOptionalType,
  listType,
  mapType,
  sameType,
  types,
} from "../values/types.ts";

/** What each free type parameter stands for, with a way back when an attempt fails. */
export class Substitution {
  readonly #bound = new Map<string, CelType>();
  readonly #trail: [string, CelType | undefined][] = [];

  find(type: CelType): CelType | undefined {
    return type.kind === "param" ? this.#bound.get(type.name) : undefined;
  }

  bind(param: CelType, to: CelType): void {
    this.#trail.push([param.name, this.#bound.get(param.name)]);
    this.#bound.set(param.name, to);
  }

  /** Runs an attempt and forgets what it bound if it returns false. */
  attempt(run: () => boolean): boolean {
    const mark = this.#trail.length;
    if (run()) return true;
    while (this.#trail.length > mark) {
      const [name, previous] = this.#trail.pop() as [string, CelType | undefined];
      if (previous === undefined) this.#bound.delete(name);
      else this.#bound.set(name, previous);
    }
    return false;
  }

  isAssignable(a: CelType, b: CelType): boolean {
    return this.attempt(() => assignable(this, a, b));
  }

  areAssignable(a: readonly CelType[], b: readonly CelType[]): boolean {
    return this.attempt(() => listAssignable(this, a, b));
  }

  /** Replaces bound parameters throughout; free ones become dyn when `freeToDyn`. */
  apply(type: CelType, freeToDyn: boolean): CelType {
    const bound = this.find(type);
    if (bound !== undefined) return this.apply(bound, freeToDyn);
    switch (type.kind) {
      case "param":
        return freeToDyn ? types.dyn : type;
      case "list":
        return listType(this.apply(type.params[0] as CelType, freeToDyn));
      case "map":
        return mapType(
          this.apply(type.params[0] as CelType, freeToDyn),
          this.apply(type.params[1] as CelType, freeToDyn),
        );
      case "opaque":
      case "type":
        if (type.params.length === 0) return type;
        return { ...type, params: type.params.map((param) => this.apply(param, freeToDyn)) };
      default:
        return type;
    }
  }
}

function assignable(subs: Substitution, a: CelType, b: CelType): boolean {
  if (b.kind === "param") {
    const result = substitutes(subs, a, b);
    if (result.valid) return true;
    if (result.known) return false;
  }
  if (a.kind === "param") return substitutes(subs, b, a).valid;
  if (isDynOrError(a) || isDynOrError(b)) return true;
  if (a.kind === "null") return isNullable(b);
  if (b.kind === "null") return isNullable(a);
  switch (a.kind) {
    case "type":
      return b.kind === "type";
    case "opaque":
    case "list":
    case "map":
      return a.kind === b.kind && a.name === b.name && listAssignable(subs, a.params, b.params);
    default:
      return a.kind === b.kind && a.name === b.name;
  }
}

function listAssignable(subs: Substitution, a: readonly CelType[], b: readonly CelType[]): boolean {
  return a.length === b.length && a.every((type, i) => assignable(subs, type, b[i] as CelType));
}

/** Whether a parameter may stand for a type, and whether it already stood for something. */
function substitutes(subs: Substitution, type: CelType, param: CelType): { valid: boolean; known: boolean } {
  if (sameType(type, param)) return { valid: true, known: true };
  const bound = subs.find(param);
  if (bound === undefined) {
    if (occursIn(subs, param, type)) return { valid: false, known: false };
    subs.bind(param, type);
    return { valid: true, known: false };
  }
  if (sameType(type, bound)) return { valid: true, known: true };
  if (!assignable(subs, type, bound)) return { valid: false, known: true };
  const general = mostGeneral(type, bound);
  if (!occursIn(subs, param, general)) subs.bind(param, general);
  return { valid: true, known: true };
}

function occursIn(subs: Substitution, param: CelType, within: CelType): boolean {
  if (sameType(param, within)) return true;
  if (within.kind === "param") {
    const bound = subs.find(within);
    return bound !== undefined && occursIn(subs, param, bound);
  }
  return within.params.some((inner) => occursIn(subs, param, inner));
}

function isNullable(type: CelType): boolean {
  switch (type.kind) {
    case "null":
    case "opaque":
    case "object":
    case "any":
    case "duration":
    case "timestamp":
      return true;
    default:
      return false;
  }
}

/** The wider of two types that are known to go together. */
export function mostGeneral(a: CelType, b: CelType): CelType {
  return isAtLeastAsWide(a, b) ? a : b;
}

function isAtLeastAsWide(a: CelType, b: CelType): boolean {
  if (a.kind === "dyn" || a.kind === "any" || a.kind === "param") return true;
  if (b.kind === "dyn" || b.kind === "any" || b.kind === "param") return false;
  if (a.kind !== b.kind) return false;
  switch (a.kind) {
    case "opaque":
    case "list":
    case "map":
      return (
        a.name === b.name &&
        a.params.length === b.params.length &&
        a.params.every((param, i) => isAtLeastAsWide(param, b.params[i] as CelType))
      );
    case "type":
      return true;
    default:
      return sameType(a, b);
  }
}

/** What an optional holds, or the type itself. */
export function unwrapOptional(type: CelType): { type: CelType; wasOptional: boolean } {
  return isOptionalType(type)
    ? { type: type.params[0] as CelType, wasOptional: true }
    : { type, wasOptional: false };
}
