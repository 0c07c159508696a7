/**
 * Turns a checked expression into closures, once, so that evaluating walks no tree.
 *
 * A path of fields becomes one closure; literals, and lists and conversions of literals, are computed here.
 * Each closure charges what the API server charges for the same work.
 */

import type { CheckedExpr, Reference } from "../check/checker.ts";
import { listCreateCost, mapCreateCost, structCreateCost } from "../check/cost.ts";
import type { CallExpr, Expr, ListExpr, MapExpr, SelectExpr, StructExpr } from "../syntax/ast.ts";
import { noSuchOverload } from "../values/compare.ts";
import {
  ArrayList,
  CelStruct,
  type CelValue,
  EntryMap,
  Fault,
  fault,
  type MapKey,
  mapKey,
  Optional,
} from "../values/values.ts";
import { charge, type Frame, type Step } from "./frame.ts";
import { planCall } from "./plan-call.ts";
import { planComprehension } from "./plan-comprehension.ts";
import {
  type ConstPlan,
  type LocalVariable,
  type PathKey,
  type PathPlan,
  type Plan,
  type Planner,
  pathStep,
  stepOf,
} from "./planner.ts";

export interface PlannedExpr {
  readonly step: Step;
  readonly localCount: number;
}

/** @throws CelError when a literal cannot be what a function needs of it: a bad pattern, say. */
export function plan(checked: CheckedExpr): PlannedExpr {
  const planner = new TreePlanner(checked);
  const step = planner.step(checked.expr);
  return { step, localCount: planner.slots };
}

class TreePlanner implements Planner {
  readonly checked: CheckedExpr;
  slots = 0;
  readonly #slotOf = new Map<string, number>();
  readonly #locals: LocalVariable[] = [];

  constructor(checked: CheckedExpr) {
    this.checked = checked;
    let slot = 0;
    for (const name of checked.environment.variables.keys()) this.#slotOf.set(name, slot++);
  }

  reference(id: number): Reference | undefined {
    return this.checked.reference(id);
  }

  newSlot(): number {
    return this.slots++;
  }

  scoped<T>(names: readonly LocalVariable[], body: () => T): T {
    this.#locals.push(...names);
    try {
      return body();
    } finally {
      this.#locals.length -= names.length;
    }
  }

  step(expr: Expr): Step {
    return stepOf(this.plan(expr));
  }

  branch(plan: Plan): Step {
    return plan.kind === "path" ? pathStep({ ...plan, ownCost: 0 }) : stepOf(plan);
  }

  plan(expr: Expr): Plan {
    switch (expr.kind) {
      case "literal":
        return { kind: "const", value: expr.value };
      case "ident":
        return this.#variable(expr.id, expr.name);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#struct(expr);
      case "comprehension":
        return planComprehension(this, expr);
      case "missing":
        return { kind: "const", value: noSuchOverload };
    }
  }

  #variable(id: number, written: string): Plan {
    const reference = this.reference(id);
    const name = reference?.kind === "ident" ? reference.name : written;
    if (reference?.kind === "ident" && reference.value !== undefined) {
      return { kind: "const", value: reference.value };
    }
    return { kind: "path", root: this.#readVariable(name), keys: [], ownCost: 1 };
  }

  #readVariable(name: string): Step {
    for (let i = this.#locals.length - 1; i >= 0; i--) {
      const local = this.#locals[i] as LocalVariable;
      if (local.name === name) return local.read;
    }
    const missing = fault(`no such attribute(s): ${name}`);
    const slot = this.#slotOf.get(name);
    return slot === undefined ? () => missing : (frame) => frame.vars[slot] ?? nullOr(frame, slot, missing);
  }

  #select(expr: SelectExpr): Plan {
    if (this.reference(expr.id)?.kind === "ident") return this.#variable(expr.id, expr.field);
    const key: PathKey = {
      dynamic: undefined,
      constant: expr.field,
      optional: false,
      testOnly: expr.testOnly,
    };
    const path = this.#extend(this.plan(expr.operand), key);
    if (!expr.testOnly || !this.checked.environment.freePresenceTests) return path;
    return { ...path, ownCost: path.ownCost - 1 };
  }

  /** A path one key longer; what is no path yet becomes the root of one. */
  #extend(plan: Plan, key: PathKey): PathPlan {
    if (plan.kind === "path" && !plan.keys.some((known) => known.testOnly)) {
      return { ...plan, keys: [...plan.keys, key] };
    }
    return { kind: "path", root: stepOf(plan), keys: [key], ownCost: 1 };
  }

  #call(expr: CallExpr): Plan {
    switch (expr.fn) {
      case "_[_]":
      case "_[?_]":
      case "_?._":
        return this.#index(expr);
      case "_?_:_":
        return this.#conditional(expr);
      default:
        return planCall(this, expr);
    }
  }

  #index(expr: CallExpr): Plan {
    const [operand, index] = expr.args as [Expr, Expr];
    const key = this.plan(index);
    const optional = expr.fn !== "_[_]";
    return this.#extend(this.plan(operand), {
      dynamic: key.kind === "const" ? undefined : this.branch(key),
      constant: key.kind === "const" ? key.value : null,
      optional,
      testOnly: false,
    });
  }

  #conditional(expr: CallExpr): Plan {
    const [condition, yes, no] = expr.args as [Expr, Expr, Expr];
    const test = this.step(condition);
    const then = this.branch(this.plan(yes));
    const otherwise = this.branch(this.plan(no));
    const root: Step = (frame) => {
      const decided = test(frame);
      if (decided === true) return then(frame);
      if (decided === false) return otherwise(frame);
      return decided instanceof Fault ? decided : noSuchOverload;
    };
    return { kind: "path", root, keys: [], ownCost: 0 };
  }

  #list(expr: ListExpr): Plan {
    const plans = expr.elements.map((element) => this.plan(element));
    if (expr.optional.length === 0 && plans.every((part) => part.kind === "const")) {
      return { kind: "const", value: new ArrayList(plans.map((part) => (part as ConstPlan).value)) };
    }
    const steps = plans.map(stepOf);
    const optional = new Set(expr.optional);
    const step: Step = (frame) => {
      const items: CelValue[] = [];
      for (let i = 0; i < steps.length; i++) {
        const value = (steps[i] as Step)(frame);
        if (value instanceof Fault) {
          charge(frame, listCreateCost);
          return value;
        }
        if (!optional.has(i)) items.push(value);
        else if (!(value instanceof Optional)) {
          return fault("cannot initialize optional list element from non-optional value");
        } else if (value.value !== undefined) items.push(value.value);
      }
      charge(frame, listCreateCost);
      return new ArrayList(items);
    };
    return { kind: "step", step };
  }

  #map(expr: MapExpr): Plan {
    const parts = expr.entries.map((entry) => ({
      key: this.plan(entry.key),
      value: this.plan(entry.value),
      optional: entry.optional,
    }));
    const steps = parts.map((part) => ({
      key: stepOf(part.key),
      value: stepOf(part.value),
      optional: part.optional,
    }));
    const build = (frame: Frame): CelValue => {
      const entries = new Map<MapKey, readonly [CelValue, CelValue]>();
      for (const part of steps) {
        const key = part.key(frame);
        if (key instanceof Fault) return key;
        const value = part.value(frame);
        if (value instanceof Fault) return value;
        const canonical = mapKey(key);
        if (canonical === undefined) return fault("unsupported key type");
        if (!part.optional) entries.set(canonical, [key, value]);
        else if (!(value instanceof Optional)) {
          return fault(`cannot initialize optional entry '${String(key)}' from non-optional value`);
        } else if (value.value === undefined) entries.delete(canonical);
        else entries.set(canonical, [key, value.value]);
      }
      return new EntryMap(entries);
    };
    if (parts.every((part) => !part.optional && part.key.kind === "const" && part.value.kind === "const")) {
      return { kind: "const", value: build(noFrame) };
    }
    const step: Step = (frame) => {
      const value = build(frame);
      charge(frame, mapCreateCost);
      return value;
    };
    return { kind: "step", step };
  }

  #struct(expr: StructExpr): Plan {
    const type = this.checked.typeOf(expr.id);
    const fields = expr.fields.map((field) => ({ ...field, step: this.step(field.value) }));
    const step: Step = (frame) => {
      const values = new Map<string, CelValue>();
      for (const field of fields) {
        const value = field.step(frame);
        if (value instanceof Fault) {
          charge(frame, structCreateCost);
          return value;
        }
        if (!field.optional) values.set(field.name, value);
        else if (!(value instanceof Optional)) {
          return fault(`cannot initialize optional entry '${field.name}' from non-optional value`);
        } else if (value.value !== undefined) values.set(field.name, value.value);
      }
      charge(frame, structCreateCost);
      return new CelStruct(type, values);
    };
    return { kind: "step", step };
  }
}

/** `??` cannot tell a bound null from nothing bound. */
function nullOr(frame: Frame, slot: number, missing: Fault): CelValue {
  return frame.vars[slot] === null ? null : missing;
}

const noFrame: Frame = { vars: [], locals: [], cost: 0, limit: 0, maxSteps: Number.POSITIVE_INFINITY };
