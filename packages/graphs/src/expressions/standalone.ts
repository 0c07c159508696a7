/** Expressions of a graph by themselves: for a controller in TypeScript that keeps some of them as CEL. */
import { type CelValue, types } from "@keelson/cel";
import { type OpenApiSchema, Schemas } from "../openapi/schema.ts";
import { graphEnvironment } from "./environment.ts";
import { compileExpression, DataPending } from "./expression.ts";
import { omit } from "./json.ts";
import { celValue } from "./values.ts";

/** Something that an expression reads is not there yet. */
export const Pending: typeof DataPending = DataPending;

/** An expression with the functions of kro: JSON in, JSON out. @throws Pending */
export type JsonExpression<T> = (variables: Readonly<Record<string, unknown>>) => T;

/**
 * Compiles an expression over variables that hold JSON. A variable comes with a schema, where that says more than JSON
 * does: bytes, dates, decimals. `omit()` gives undefined. @throws GraphError when it is no valid expression.
 */
export function expression<T>(
  source: string,
  variables: Readonly<Record<string, OpenApiSchema>>,
): JsonExpression<T> {
  const names = Object.keys(variables);
  const environment = graphEnvironment.extend({
    variables: Object.fromEntries(names.map((name) => [name, types.dyn])),
  });
  const compiled = compileExpression({ cel: source, shown: source, standalone: true }, environment, []);
  const schemas = new Schemas({});
  return (given) => {
    const bindings: Record<string, CelValue> = {};
    for (const name of names) {
      const value = given[name];
      if (value !== undefined) bindings[name] = celValue(value, { schema: variables[name] ?? {}, schemas });
    }
    const result = compiled.json(bindings);
    return (result === omit ? undefined : result) as T;
  };
}
