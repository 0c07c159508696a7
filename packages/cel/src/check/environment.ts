/** What an expression may name: variables, functions, macros and types. */
import { CelError } from "../syntax/errors.ts";
import { type Macro, macroKey } from "../syntax/macro.ts";
import { type CelType, types, typeType } from "../values/types.ts";
import type { FunctionDecl, Library, Overload } from "./functions.ts";

/** A type with fields. */
export interface ObjectDecl {
  readonly name: string;
  /** By the name an expression writes. */
  readonly fields: Pick<ReadonlyMap<string, CelType>, "get">;
}

/** Variables, functions and libraries of an environment. */
export interface EnvironmentOptions {
  readonly libraries?: readonly Library[];
  readonly variables?: Readonly<Record<string, CelType>>;
  readonly objects?: Iterable<ObjectDecl>;
  /** Finds types with fields that are not listed one by one. */
  readonly resolveObject?: (name: string) => ObjectDecl | undefined;
  /** The namespace names are looked up in first. Default none. */
  readonly container?: string;
  /** Allows field names between backticks. Default false, as in Kubernetes. */
  readonly escapedFields?: boolean;
  /** Lists and maps written out must hold one type. Default false; true in Kubernetes. */
  readonly homogeneousLiterals?: boolean;
  /** Reports literals that a function can only refuse: `duration("x")`. Default false; true in Kubernetes. */
  readonly checkedLiterals?: boolean;
  /** `has()` costs nothing by itself. Default false; true in Kubernetes. */
  readonly freePresenceTests?: boolean;
}

const standardTypes: readonly CelType[] = [
  types.bool,
  types.bytes,
  types.double,
  types.duration,
  types.int,
  types.anyList,
  types.anyMap,
  types.null,
  types.string,
  types.timestamp,
  types.type,
  types.uint,
];

/** Immutable: `extend` makes another. Costly to build and cheap to extend, so keep the base. */
export class Environment {
  readonly container: string;
  readonly escapedFields: boolean;
  readonly homogeneousLiterals: boolean;
  readonly checkedLiterals: boolean;
  readonly freePresenceTests: boolean;
  readonly optionalSyntax: boolean;
  readonly macros: ReadonlyMap<string, Macro>;
  /** Each variable's type; its position is where evaluation finds its value. */
  readonly variables: ReadonlyMap<string, CelType>;
  readonly #functions: ReadonlyMap<string, FunctionDecl>;
  readonly #types: ReadonlyMap<string, CelType>;
  readonly #objects: ReadonlyMap<string, ObjectDecl>;
  readonly #resolveObject: ((name: string) => ObjectDecl | undefined) | undefined;

  /** @throws CelError when two libraries declare the same overload differently. */
  constructor(options: EnvironmentOptions, base?: Environment) {
    this.container = options.container ?? base?.container ?? "";
    this.escapedFields = options.escapedFields ?? base?.escapedFields ?? false;
    this.homogeneousLiterals = options.homogeneousLiterals ?? base?.homogeneousLiterals ?? false;
    this.checkedLiterals = options.checkedLiterals ?? base?.checkedLiterals ?? false;
    this.freePresenceTests = options.freePresenceTests ?? base?.freePresenceTests ?? false;
    const libraries = options.libraries ?? [];
    this.optionalSyntax =
      (base?.optionalSyntax ?? false) || libraries.some((library) => library.optionalSyntax ?? false);
    this.variables = new Map([...(base?.variables ?? []), ...Object.entries(options.variables ?? {})]);
    this.#resolveObject = options.resolveObject ?? (base === undefined ? undefined : base.#resolveObject);
    this.#objects = base === undefined ? new Map() : base.#objects;
    if (options.objects !== undefined) {
      const objects = new Map(this.#objects);
      for (const object of options.objects) objects.set(object.name, object);
      this.#objects = objects;
    }
    if (base !== undefined && libraries.length === 0) {
      this.macros = base.macros;
      this.#functions = base.#functions;
      this.#types = base.#types;
      return;
    }
    const macros = new Map(base?.macros);
    const functions = new Map(base === undefined ? [] : base.#functions);
    const named = new Map(base === undefined ? standardTypes.map((type) => [type.name, type]) : base.#types);
    for (const library of libraries) {
      for (const macro of library.macros ?? []) {
        macros.set(macroKey(macro.fn, macro.argCount, macro.receiver), macro);
      }
      for (const fn of library.functions ?? []) functions.set(fn.name, merge(functions.get(fn.name), fn));
      for (const type of library.types ?? []) named.set(type.name, type);
    }
    this.macros = macros;
    this.#functions = functions;
    this.#types = named;
  }

  extend(options: EnvironmentOptions): Environment {
    return new Environment(options, this);
  }

  /** The function of a name, tried in the container first. */
  function(name: string): FunctionDecl | undefined {
    for (const candidate of this.candidates(name)) {
      const found = this.#functions.get(candidate);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A variable or a type's name, tried in the container first. */
  ident(name: string): { name: string; type: CelType; value?: CelType } | undefined {
    for (const candidate of this.candidates(name)) {
      const variable = this.variables.get(candidate);
      if (variable !== undefined) return { name: candidate, type: variable };
      const type = this.#types.get(candidate);
      if (type !== undefined) return { name: candidate, type: typeType(type), value: type };
      const object = this.object(candidate);
      if (object !== undefined) {
        const named: CelType = { kind: "object", name: candidate, params: [] };
        return { name: candidate, type: typeType(named), value: named };
      }
    }
    return undefined;
  }

  object(name: string): ObjectDecl | undefined {
    return this.#objects.get(name) ?? this.#resolveObject?.(name);
  }

  /** The names to try for a name written in an expression, innermost namespace first. */
  candidates(name: string): readonly string[] {
    if (name.startsWith(".")) return [name.slice(1)];
    if (this.container === "") return [name];
    const out: string[] = [];
    for (let prefix = this.container; prefix !== ""; ) {
      out.push(`${prefix}.${name}`);
      const dot = prefix.lastIndexOf(".");
      prefix = dot < 0 ? "" : prefix.slice(0, dot);
    }
    out.push(name);
    return out;
  }
}

function merge(known: FunctionDecl | undefined, added: FunctionDecl): FunctionDecl {
  if (known === undefined) return added;
  const overloads: Overload[] = [...known.overloads];
  for (const overload of added.overloads) {
    const at = overloads.findIndex((other) => other.id === overload.id);
    if (at < 0) overloads.push(overload);
    else if (overloads[at] !== overload) {
      throw new CelError("environment", `overload ${overload.id} of ${added.name} is declared twice`);
    }
  }
  const impl = known.impl ?? added.impl;
  const cost = known.cost ?? added.cost;
  return {
    name: known.name,
    // An implementation of the whole function stays with the overloads it was declared with.
    overloads: overloads.map((overload) =>
      overload.impl === undefined && impl !== undefined ? { ...overload, impl } : overload,
    ),
    ...(cost && { cost }),
    ...((known.nonStrict || added.nonStrict) && { nonStrict: true }),
  };
}
