/** Kubernetes' use of CEL: the `x-kubernetes-validations` of a whole schema. */
import { checkRules } from "./check-rules.ts";
import { buildRuleTree, runRules } from "./run-rules.ts";
import type { CompiledRules, CompileRulesOptions, RuleFieldError, RuleSchema } from "./types.ts";

/**
 * Compiles every rule of a structural schema. Never throws for bad rules: what is wrong with them is in
 * `errors`, and running them reports it too.
 */
export function compileRules(schema: RuleSchema, options: CompileRulesOptions = {}): CompiledRules {
  const isResourceRoot = options.isResourceRoot ?? true;
  const tree = buildRuleTree(schema, isResourceRoot);
  // Checking compiles everything once more to estimate its cost, which only a writer of rules needs.
  let errors: readonly RuleFieldError[] | undefined;
  return {
    hasRules: tree !== undefined,
    get errors() {
      errors ??= checkRules(schema, options.path ?? "", isResourceRoot);
      return errors;
    },
    validate: (input) =>
      tree === undefined
        ? { errors: [], warnings: [], remainingBudget: input.costBudget ?? 10_000_000 }
        : runRules(tree, input),
  };
}
