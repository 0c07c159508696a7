/** The vocabulary of planning: what a node is planned as, and what a plan turns into. */

import type { CheckedExpr, Reference } from "../check/checker.ts";
import type { Expr } from "../syntax/ast.ts";
import { lookUp, qualify } from "../values/qualify.ts";
import { type CelValue, Fault, Optional } from "../values/values.ts";
import { charge, type Frame, type Step } from "./frame.ts";

/** A node whose value is known already. */
export interface ConstPlan {
  readonly kind: "const";
  readonly value: CelValue;
}

/** A variable, or any value, with a path of fields and indices behind it. */
export interface PathPlan {
  readonly kind: "path";
  readonly root: Step;
  readonly keys: readonly PathKey[];
  /** What reading the whole path costs besides its keys. */
  readonly ownCost: number;
}

export interface PathKey {
  /** Computes the key; constants are given as such. */
  readonly dynamic: Step | undefined;
  readonly constant: CelValue;
  /** Written with a question mark. */
  readonly optional: boolean;
  /** Asks only whether it is there. */
  readonly testOnly: boolean;
}

interface StepPlan {
  readonly kind: "step";
  readonly step: Step;
}

export type Plan = ConstPlan | PathPlan | StepPlan;

/** What one planning pass carries along. */
export interface Planner {
  readonly checked: CheckedExpr;
  plan(expr: Expr): Plan;
  /** The closure of a node. */
  step(expr: Expr): Step;
  /** The closure of a part of a conditional, where a path pays only for its keys. */
  branch(plan: Plan): Step;
  reference(id: number): Reference | undefined;
  /** Runs `body` with more variables in scope; they keep their slots afterwards. */
  scoped<T>(names: readonly LocalVariable[], body: () => T): T;
  newSlot(): number;
}

export interface LocalVariable {
  readonly name: string;
  readonly read: Step;
}

export function stepOf(plan: Plan): Step {
  switch (plan.kind) {
    case "const": {
      const { value } = plan;
      return () => value;
    }
    case "path":
      return pathStep(plan);
    case "step":
      return plan.step;
  }
}

export function pathStep(plan: PathPlan): Step {
  const { root, keys, ownCost } = plan;
  const [first, second] = keys;
  if (first === undefined) {
    if (ownCost === 0) return root;
    return (frame) => {
      const value = root(frame);
      charge(frame, ownCost);
      return value;
    };
  }
  const plain = keys.every((key) => key.dynamic === undefined && !key.optional && !key.testOnly);
  if (plain && keys.length === 1) return oneKey(root, first.constant, ownCost);
  if (plain && second !== undefined && keys.length === 2) {
    return twoKeys(root, first.constant, second.constant, ownCost);
  }
  return (frame) => {
    const value = followPath(frame, root(frame), keys);
    charge(frame, ownCost);
    return value;
  };
}

function oneKey(root: Step, key: CelValue, ownCost: number): Step {
  return (frame) => {
    const base = root(frame);
    if (base instanceof Fault || base instanceof Optional) return slowPath(frame, base, [key], ownCost);
    charge(frame, 1 + ownCost);
    return qualify(base, key);
  };
}

function twoKeys(root: Step, first: CelValue, second: CelValue, ownCost: number): Step {
  return (frame) => {
    const base = root(frame);
    if (base instanceof Fault || base instanceof Optional) {
      return slowPath(frame, base, [first, second], ownCost);
    }
    const middle = qualify(base, first);
    if (middle instanceof Fault) {
      charge(frame, 1 + ownCost);
      return middle;
    }
    charge(frame, 2 + ownCost);
    return qualify(middle, second);
  };
}

function slowPath(frame: Frame, base: CelValue, keys: readonly CelValue[], ownCost: number): CelValue {
  const value = followPath(
    frame,
    base,
    keys.map((constant) => ({ dynamic: undefined, constant, optional: false, testOnly: false })),
  );
  charge(frame, ownCost);
  return value;
}

/**
 * Walks a path. From the first optional value or question mark on, what is missing makes the whole path an
 * empty optional instead of an error.
 */
function followPath(frame: Frame, base: CelValue, keys: readonly PathKey[]): CelValue {
  let value = base;
  let optional = false;
  if (value instanceof Optional) {
    if (value.value === undefined) return testsPresence(keys) ? false : value;
    optional = true;
    value = value.value;
  }
  for (const key of keys) {
    if (value instanceof Fault) return value;
    const wanted = key.dynamic === undefined ? key.constant : key.dynamic(frame);
    optional ||= key.optional;
    if (wanted instanceof Fault) {
      if (!optional) charge(frame, 1);
      return wanted;
    }
    if (!optional && !key.testOnly) {
      charge(frame, 1);
      value = qualify(value, wanted);
      continue;
    }
    const found = lookUp(value, wanted);
    if (found !== undefined || key.testOnly) charge(frame, 1);
    if (found instanceof Fault) return found;
    if (key.testOnly) return found !== undefined;
    if (found === undefined) return testsPresence(keys) ? false : Optional.none;
    value = found;
  }
  return optional && !(value instanceof Fault) ? Optional.of(value) : value;
}

function testsPresence(keys: readonly PathKey[]): boolean {
  return keys[keys.length - 1]?.testOnly ?? false;
}
