/** The macros of the language itself: has, all, exists, exists_one, map and filter. */
import { accumulatorName, type Expr, oldAccumulatorName } from "../syntax/ast.ts";
import type { Macro, MacroBuilder } from "../syntax/macro.ts";

const notStrictlyFalse = "@not_strictly_false";

/** The name of an iteration variable; reports `message` when the argument is not one. */
export function iterationVariable(build: MacroBuilder, arg: Expr | undefined, message: string): string {
  if (arg?.kind !== "ident") return build.fail(arg as Expr, message);
  if (arg.name === accumulatorName || arg.name === oldAccumulatorName) {
    return build.fail(arg, "iteration variable overwrites accumulator variable");
  }
  return arg.name;
}

export interface LoopParts {
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2?: string | undefined;
}

export function allLoop(build: MacroBuilder, loop: LoopParts, predicate: Expr): Expr {
  return build.comprehension({
    ...loop,
    iterVar2: loop.iterVar2,
    accuVar: accumulatorName,
    accuInit: build.literal(true),
    condition: build.call(notStrictlyFalse, build.accumulator()),
    step: build.call("_&&_", build.accumulator(), predicate),
    result: build.accumulator(),
  });
}

export function existsLoop(build: MacroBuilder, loop: LoopParts, predicate: Expr): Expr {
  return build.comprehension({
    ...loop,
    iterVar2: loop.iterVar2,
    accuVar: accumulatorName,
    accuInit: build.literal(false),
    condition: build.call(notStrictlyFalse, build.call("!_", build.accumulator())),
    step: build.call("_||_", build.accumulator(), predicate),
    result: build.accumulator(),
  });
}

export function existsOneLoop(build: MacroBuilder, loop: LoopParts, predicate: Expr): Expr {
  return build.comprehension({
    ...loop,
    iterVar2: loop.iterVar2,
    accuVar: accumulatorName,
    accuInit: build.literal(0),
    condition: build.literal(true),
    step: build.call(
      "_?_:_",
      predicate,
      build.call("_+_", build.accumulator(), build.literal(1)),
      build.accumulator(),
    ),
    result: build.call("_==_", build.accumulator(), build.literal(1)),
  });
}

/** Collects `transform` of every element, or of those for which `filter` holds. */
export function listLoop(
  build: MacroBuilder,
  loop: LoopParts,
  filter: Expr | undefined,
  transform: Expr,
): Expr {
  const accuInit = build.list();
  const condition = build.literal(true);
  const grown = build.call("_+_", build.accumulator(), build.list(transform));
  const step = filter === undefined ? grown : build.call("_?_:_", filter, grown, build.accumulator());
  return build.comprehension({
    ...loop,
    iterVar2: loop.iterVar2,
    accuVar: accumulatorName,
    accuInit,
    condition,
    step,
    result: build.accumulator(),
  });
}

const has: Macro = {
  fn: "has",
  argCount: 1,
  receiver: false,
  expand(build, _target, args) {
    const arg = args[0] as Expr;
    if (arg.kind !== "select") return build.fail(arg, "invalid argument to has() macro");
    return build.presence(arg.operand, arg.field);
  },
};

function quantifier(fn: string, loop: typeof allLoop): Macro {
  return {
    fn,
    argCount: 2,
    receiver: true,
    expand: (build, range, args) => {
      const iterVar = iterationVariable(build, args[0], "argument must be a simple name");
      return loop(build, { range, iterVar }, args[1] as Expr);
    },
  };
}

/** Shared with `sortBy`, which sorts by what `map` would give. */
export function mapLoop(build: MacroBuilder, range: Expr, args: readonly Expr[]): Expr {
  const iterVar = iterationVariable(build, args[0], "argument is not an identifier");
  const filter = args.length === 3 ? args[1] : undefined;
  return listLoop(build, { range, iterVar }, filter, args[args.length - 1] as Expr);
}

const map = (argCount: number): Macro => ({ fn: "map", argCount, receiver: true, expand: mapLoop });

const filter: Macro = {
  fn: "filter",
  argCount: 2,
  receiver: true,
  expand(build, range, args) {
    const variable = args[0] as Expr;
    const iterVar = iterationVariable(build, variable, "argument is not an identifier");
    return listLoop(build, { range, iterVar }, args[1] as Expr, variable);
  },
};

export const standardMacros: readonly Macro[] = [
  has,
  quantifier("all", allLoop),
  quantifier("exists", existsLoop),
  quantifier("exists_one", existsOneLoop),
  map(2),
  map(3),
  filter,
];
