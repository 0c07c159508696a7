/** Provokes every error of @keelson/cel. */
import {
  type CelErrorCode,
  CelIssues,
  compile,
  Environment,
  Fault,
  Program,
  standardLibrary,
} from "@keelson/cel";
import { type Provocations, reported } from "../provoked.ts";

const environment = new Environment({ libraries: [standardLibrary] });

function issues(source: string): CelIssues {
  const compiled = compile(source, environment);
  if (compiled instanceof CelIssues) return compiled;
  throw new Error(`${source} compiles`);
}

function fault(source: string, costLimit: number): string {
  const program = compile(source, environment);
  const { value } = program instanceof Program ? program.evaluate({}, { costLimit }) : { value: undefined };
  if (value instanceof Fault) return value.message;
  throw new Error(`${source} does not fail`);
}

const [size] = standardLibrary.functions ?? [];

export const cel: Provocations<CelErrorCode> = {
  syntax: () => issues("self.").toError("syntax"),
  type: () => issues("1 + 'a'").toError(),
  limit: () => reported("limit", issues(`${"[".repeat(500)}1${"]".repeat(500)}`)),
  cancelled: () => reported("cancelled", fault("[1, 2, 3].all(x, x > 0)", 1)),
  environment: () => {
    if (size === undefined) return undefined;
    const changed = { ...size, overloads: size.overloads.map((overload) => ({ ...overload })) };
    return environment.extend({ libraries: [{ name: "again", functions: [changed] }] });
  },
};
