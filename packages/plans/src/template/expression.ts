/** Expressions in texts: `${parameters.version}`, in CEL. */
import {
  CelIssues,
  compile,
  Fault,
  fromJson,
  kubernetesEnvironment,
  type Program,
  toJson,
  types,
} from "@keelson/cel";
import type { JsonObject, JsonValue } from "@keelson/core";
import { MissingData, PlanError } from "../errors.ts";

/** What expressions may speak of. */
export interface TemplateValues {
  readonly parameters: JsonObject;
  /** What was brought last; empty before anything was. */
  readonly previous: JsonObject;
  readonly name: string;
  readonly namespace: string;
  /** The run, such as `upgrade-3`. */
  readonly run: string;
  /** What steps answered, by `phase/step`. */
  readonly results: JsonObject;
  /** In `until`: the object that is waited for. */
  readonly object?: JsonObject;
}

const names = ["parameters", "previous", "name", "namespace", "run", "results", "object"] as const;
const environment = kubernetesEnvironment.extend({
  variables: Object.fromEntries(names.map((name) => [name, types.dyn])),
});
const programs = new Map<string, Program>();
const mostPrograms = 2_000;
/** What CEL says of fields, keys, elements and variables that are not there. */
const missing = /no such (key|field|attribute)|index out of bounds/;

/** The value of an expression without its `${` and `}`. */
export function evaluate(expression: string, values: TemplateValues): JsonValue {
  const bindings = Object.fromEntries(names.map((name) => [name, fromJson(values[name] ?? null)]));
  const { value } = programOf(expression).evaluate(bindings);
  if (value instanceof Fault) {
    const message = `cannot evaluate \${${expression}}: ${value.message}`;
    throw missing.test(value.message)
      ? new MissingData(message)
      : new PlanError("InvalidExpression", message);
  }
  return toJson(value) as JsonValue;
}

/** Whether an expression is true. It may stand with or without `${` and `}`. */
export function isTrue(expression: string, values: TemplateValues): boolean {
  const inner = /^\s*\$\{([\s\S]*)\}\s*$/.exec(expression)?.[1] ?? expression;
  const value = evaluate(inner, values);
  if (typeof value === "boolean") return value;
  throw new PlanError(
    "InvalidExpression",
    `\${${inner}} is ${JSON.stringify(value)}, which is neither true nor false`,
  );
}

/** Throws when an expression cannot be read. */
export function checkExpression(expression: string): void {
  programOf(expression);
}

function programOf(expression: string): Program {
  const known = programs.get(expression);
  if (known) return known;
  const program = compile(expression, environment);
  if (program instanceof CelIssues) {
    throw new PlanError("InvalidExpression", `cannot read \${${expression}}: ${program.toError().message}`);
  }
  if (programs.size >= mostPrograms) programs.clear();
  programs.set(expression, program);
  return program;
}
