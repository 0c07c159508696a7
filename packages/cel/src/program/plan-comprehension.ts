/** Plans loops: the macros each in a form of their own, anything else as written. */

import { listCreateCost } from "../check/cost.ts";
import { accumulatorName, type CallExpr, type ComprehensionExpr, type Expr } from "../syntax/ast.ts";
import { qualify } from "../values/qualify.ts";
import { ArrayList, CelList, CelMap, type CelValue, Fault, fault } from "../values/values.ts";
import { charge, type Frame, type Step } from "./frame.ts";
import { type LocalVariable, type Plan, type Planner, stepOf } from "./planner.ts";

/** Calls `visit` for each element until it returns false; a fault when the value cannot be iterated. */
type Iterate = (range: CelValue, frame: Frame, visit: (frame: Frame) => boolean) => Fault | undefined;

export function planComprehension(planner: Planner, expr: ComprehensionExpr): Plan {
  return { kind: "step", step: isBind(expr) ? bindStep(planner, expr) : loopStep(planner, expr) };
}

/** `cel.bind` and its kin: a loop that never runs, for the sake of its accumulator. */
function isBind(expr: ComprehensionExpr): boolean {
  return (
    expr.range.kind === "list" &&
    expr.range.elements.length === 0 &&
    expr.condition.kind === "literal" &&
    expr.condition.value === false &&
    expr.accuVar !== accumulatorName
  );
}

function bindStep(planner: Planner, expr: ComprehensionExpr): Step {
  const init = planner.step(expr.accuInit);
  const slot = planner.newSlot();
  // The value is computed when first read: a branch that does not need it does not pay for it.
  const read: Step = (frame) => {
    const known = frame.locals[slot];
    if (known !== undefined) return known;
    const value = init(frame);
    frame.locals[slot] = value;
    return value;
  };
  const result = planner.scoped([{ name: expr.accuVar, read }], () => planner.step(expr.result));
  return (frame) => {
    frame.locals[slot] = undefined;
    return result(frame);
  };
}

function slotVariable(planner: Planner, name: string): LocalVariable & { slot: number } {
  const slot = planner.newSlot();
  return { name, slot, read: (frame) => frame.locals[slot] as CelValue };
}

function loopStep(planner: Planner, expr: ComprehensionExpr): Step {
  const range = planner.step(expr.range);
  const init = planner.step(expr.accuInit);
  const accu = slotVariable(planner, expr.accuVar);
  const first = slotVariable(planner, expr.iterVar);
  const second = expr.iterVar2 === undefined ? undefined : slotVariable(planner, expr.iterVar2);
  const inside = second === undefined ? [accu, first] : [accu, first, second];
  const iterate = iteration(first.slot, second?.slot);
  const collected = collectStep(planner, expr, inside, accu.slot);
  const result = planner.scoped([accu], () => planner.step(expr.result));
  if (collected !== undefined) return collectLoop(range, iterate, collected, accu.slot, result);
  const [condition, step] = planner.scoped(inside, () => [
    planner.step(expr.condition),
    planner.step(expr.step),
  ]);
  return (frame) => {
    const over = range(frame);
    if (over instanceof Fault) return over;
    frame.locals[accu.slot] = init(frame);
    const failure = iterate(over, frame, (current) => {
      if (condition(current) === false) return false;
      current.locals[accu.slot] = step(current);
      return true;
    });
    return failure === undefined ? result(frame) : failure;
  };
}

function iteration(first: number, second: number | undefined): Iterate {
  return (range, frame, visit) => {
    const { locals } = frame;
    if (range instanceof CelList) {
      for (let i = 0; i < range.size; i++) {
        if (second === undefined) locals[first] = range.at(i);
        else {
          locals[first] = i;
          locals[second] = range.at(i);
        }
        if (!visit(frame)) return undefined;
      }
      return undefined;
    }
    if (!(range instanceof CelMap)) return fault("no such overload");
    for (const key of range.keys()) {
      locals[first] = key;
      if (second !== undefined) locals[second] = qualify(range, key);
      if (!visit(frame)) return undefined;
    }
    return undefined;
  };
}

/** One turn of a loop that only ever appends to a list: a value to append, or undefined to skip. */
type Collect = (frame: Frame) => CelValue | undefined;

/**
 * `map`, `filter` and `transformList` grow their accumulator by one element a turn. Appending to an array
 * instead of adding lists makes them linear; what they charge stays the same.
 */
function collectStep(
  planner: Planner,
  expr: ComprehensionExpr,
  inside: readonly LocalVariable[],
  _accuSlot: number,
): Collect | undefined {
  if (expr.accuVar !== accumulatorName || expr.accuInit.kind !== "list") return undefined;
  const step = expr.step as CallExpr;
  if (step.kind !== "call") return undefined;
  const grown = step.fn === "_?_:_" ? step.args[1] : step;
  const appended = appendedElement(grown);
  if (appended === undefined) return undefined;
  return planner.scoped(inside, () => {
    const planned = planner.plan(appended);
    const element = stepOf(planned);
    // The accumulator read, the addition, and the list of one element unless that is a constant.
    const cost = planned.kind === "const" ? 2 : 2 + listCreateCost;
    const append: Collect = (frame) => {
      const value = element(frame);
      charge(frame, cost);
      return value;
    };
    if (step.fn !== "_?_:_") return append;
    const test = planner.step(step.args[0] as Expr);
    return (frame) => {
      const decided = test(frame);
      if (decided === true) return append(frame);
      if (decided === false) return undefined;
      return decided instanceof Fault ? decided : fault("no such overload");
    };
  });
}

function appendedElement(expr: Expr | undefined): Expr | undefined {
  if (expr?.kind !== "call" || expr.fn !== "_+_") return undefined;
  const [accu, list] = expr.args;
  if (accu?.kind !== "ident" || accu.name !== accumulatorName) return undefined;
  if (list?.kind !== "list" || list.elements.length !== 1 || list.optional.length > 0) return undefined;
  return list.elements[0];
}

function collectLoop(range: Step, iterate: Iterate, collect: Collect, accuSlot: number, result: Step): Step {
  return (frame) => {
    const over = range(frame);
    if (over instanceof Fault) return over;
    const items: CelValue[] = [];
    let failed: Fault | undefined;
    const failure = iterate(over, frame, (current) => {
      const value = collect(current);
      if (value === undefined) return true;
      if (value instanceof Fault) {
        // An error once in the accumulator stays there, whatever follows.
        failed ??= value;
        return true;
      }
      if (failed === undefined) items.push(value);
      return true;
    });
    if (failure !== undefined) return failure;
    frame.locals[accuSlot] = failed ?? new ArrayList(items);
    return result(frame);
  };
}
