/** Compiles the rules of one schema node. */
import type { Environment } from "../check/environment.ts";
import { estimateCost } from "../check/estimate.ts";
import { compileToChecked, Program } from "../program/program.ts";
import { CelError, CelIssues } from "../syntax/errors.ts";
import { optionalType, sameType, types } from "../values/types.ts";
import { type DeclType, objectDecls, sizeHint } from "./decl-type.ts";
import { kubernetesEnvironment } from "./environment.ts";
import { resolveFieldPath } from "./field-path.ts";
import type { RuleSchema, ValidationRule } from "./types.ts";

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Absent when the rule is empty or does not compile. */
  readonly program: Program | undefined;
  readonly error: string | undefined;
  readonly usesOldSelf: boolean;
  /** The most that one evaluation can cost. */
  readonly maxCost: number;
  readonly message: Program | undefined;
  readonly messageError: string | undefined;
  readonly messageMaxCost: number;
  /** Relative to the node, as errors show it; empty when the rule names none. */
  readonly fieldPath: string;
}

/** `schema` is where field paths lead, `decl` what `self` is. */
export function compileNode(
  rules: readonly ValidationRule[],
  schema: RuleSchema,
  decl: DeclType,
): CompiledRule[] {
  const objects = [...objectDecls(decl)];
  const self = decl.type;
  let plain: Environment | undefined;
  let optional: Environment | undefined;
  return rules.map((rule) => {
    if (rule.optionalOldSelf) {
      optional ??= kubernetesEnvironment.extend({
        variables: { self, oldSelf: optionalType(self) },
        objects,
      });
      return compileRule(rule, schema, decl, optional);
    }
    plain ??= kubernetesEnvironment.extend({ variables: { self, oldSelf: self }, objects });
    return compileRule(rule, schema, decl, plain);
  });
}

const empty = {
  program: undefined,
  error: undefined,
  usesOldSelf: false,
  maxCost: 0,
  message: undefined,
  messageError: undefined,
  messageMaxCost: 0,
  fieldPath: "",
};

function compileRule(
  rule: ValidationRule,
  schema: RuleSchema,
  decl: DeclType,
  environment: Environment,
): CompiledRule {
  if (rule.rule.trim() === "") return { ...empty, rule };
  const own = compileExpression(rule.rule, environment, decl);
  if ("failed" in own) return { ...empty, rule, error: ruleFailure(own) };
  const result = { ...empty, rule };
  if (!sameType(own.program.resultType, types.bool)) {
    return { ...result, error: "cel expression must evaluate to a bool" };
  }
  const compiled = {
    ...result,
    program: own.program,
    maxCost: own.maxCost,
    usesOldSelf: own.program.references.has("oldSelf"),
    fieldPath: rule.fieldPath ? (resolveFieldPath(rule.fieldPath, schema) ?? "") : "",
  };
  if (!rule.messageExpression) return compiled;
  const message = compileExpression(rule.messageExpression, environment, decl);
  if ("failed" in message) return { ...compiled, messageError: messageFailure(message) };
  if (!sameType(message.program.resultType, types.string)) {
    return { ...compiled, messageError: "messageExpression must evaluate to a string" };
  }
  return { ...compiled, message: message.program, messageMaxCost: message.maxCost };
}

/** `compilation` failures point into the text, `instantiation` failures come from literals. */
interface Failure {
  readonly failed: "compilation" | "instantiation";
  readonly reason: string;
}

function compileExpression(
  source: string,
  environment: Environment,
  decl: DeclType,
): { program: Program; maxCost: number } | Failure {
  const checked = compileToChecked(source, environment);
  if (checked instanceof CelIssues) return { failed: "compilation", reason: String(checked) };
  try {
    const program = new Program(checked);
    return { program, maxCost: estimateCost(checked, (node) => sizeHint(decl, node)).max };
  } catch (error) {
    if (error instanceof CelError) return { failed: "instantiation", reason: error.message };
    throw error;
  }
}

function ruleFailure({ failed, reason }: Failure): string {
  return failed === "compilation"
    ? `compilation failed: ${reason}`
    : `program instantiation failed: ${reason}`;
}

function messageFailure({ failed, reason }: Failure): string {
  return `messageExpression ${failed} failed: ${reason}`;
}
