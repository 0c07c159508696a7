/** Says why the API server would refuse the rules of a schema. */
import type { JsonValue } from "@keelson/core";
import { unbounded } from "../values/cost-range.ts";
import { fixedDecimal } from "../values/go-numbers.ts";
import { type CompiledRule, compileNode } from "./compile-rule.ts";
import { declTypeOf, maxCardinality } from "./decl-type.ts";
import { resolveFieldPath } from "./field-path.ts";
import type { RuleFieldError, RuleSchema, ValidationRule } from "./types.ts";

/** The most that one expression may cost, over all the places where it runs. */
const maxExpressionCost = 10_000_000;
/** The most that all expressions of a schema may cost. */
const maxSchemaCost = 100_000_000;

interface Place {
  readonly path: string;
  /** How often this node can occur; undefined when nothing bounds it. */
  readonly cardinality: number | undefined;
  /** The nearest node above within which old and new values cannot be paired. */
  readonly uncorrelatable: string | undefined;
  readonly isRoot: boolean;
}

interface Findings {
  /** About the rules as data: later checks do not run when there are any. */
  readonly schema: RuleFieldError[];
  readonly cel: RuleFieldError[];
}

export function checkRules(schema: RuleSchema, path: string, isResourceRoot: boolean): RuleFieldError[] {
  const total = new TotalCost();
  const place = { path, cardinality: 1, uncorrelatable: undefined, isRoot: isResourceRoot };
  const findings = checkNode(schema, place, total);
  return [...findings.schema, ...findings.cel, ...total.errors(path)];
}

function checkNode(schema: RuleSchema, place: Place, total: TotalCost): Findings {
  const findings: Findings = { schema: [], cel: [] };
  for (const [child, at] of childPlaces(schema, place)) {
    const found = checkNode(child, at, total);
    findings.schema.push(...found.schema);
    findings.cel.push(...found.cel);
  }
  const rules = schema["x-kubernetes-validations"] ?? [];
  for (const [i, rule] of rules.entries()) findings.schema.push(...checkRuleData(rule, schema, place, i));
  if (rules.length > 0 && findings.schema.length === 0) {
    findings.cel.push(...checkExpressions(rules, schema, place, total));
  }
  return findings;
}

function childPlaces(schema: RuleSchema, place: Place): [RuleSchema, Place][] {
  const children: [RuleSchema, Place][] = [];
  const factor = maxElements(schema);
  const cardinality =
    place.cardinality === undefined || factor === undefined
      ? undefined
      : Math.min(place.cardinality * factor, unbounded);
  const inside = (path: string, correlatable: boolean): Place => ({
    path: joinPath(place.path, path),
    cardinality,
    uncorrelatable: place.uncorrelatable ?? (correlatable ? undefined : place.path),
    isRoot: false,
  });
  if (typeof schema.additionalProperties === "object") {
    children.push([schema.additionalProperties, inside("additionalProperties", true)]);
  }
  const mapType = schema["x-kubernetes-map-type"];
  const granular = mapType === undefined || mapType === "granular" || mapType === "atomic";
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    children.push([property, inside(`properties[${name}]`, granular)]);
  }
  if (schema.items !== undefined) {
    children.push([schema.items, inside("items", schema["x-kubernetes-list-type"] === "map")]);
  }
  return children;
}

function joinPath(path: string, child: string): string {
  return path === "" ? child : `${path}.${child}`;
}

function maxElements(schema: RuleSchema): number | undefined {
  if (schema.type === "object" && schema.additionalProperties !== undefined) {
    return schema.maxProperties === undefined ? undefined : Math.max(0, schema.maxProperties);
  }
  if (schema.type === "array")
    return schema.maxItems === undefined ? undefined : Math.max(0, schema.maxItems);
  return 1;
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const lineBreak = /[\n\r]/;

function rulePath(place: Place, index: number, field: string): string {
  return joinPath(place.path, `x-kubernetes-validations[${index}].${field}`);
}

function checkRuleData(
  rule: ValidationRule,
  schema: RuleSchema,
  place: Place,
  index: number,
): RuleFieldError[] {
  const errors: RuleFieldError[] = [];
  const report = (
    type: RuleFieldError["type"],
    field: string,
    value: JsonValue | undefined,
    detail: string,
  ) => errors.push({ type, field: rulePath(place, index, field), value, detail });
  const [text, message] = [rule.rule.trim(), (rule.message ?? "").trim()];
  if (text === "") report("FieldValueRequired", "rule", "", "rule is not specified");
  else if (rule.message && message === "") {
    report("FieldValueInvalid", "message", rule.message, "must be non-empty if specified");
  } else if (lineBreak.test(message)) {
    report("FieldValueInvalid", "message", rule.message ?? "", "must not contain line breaks");
  } else if (lineBreak.test(text) && message === "") {
    report("FieldValueRequired", "message", "", "message must be specified if rule contains line breaks");
  }
  if (rule.messageExpression && rule.messageExpression.trim() === "") {
    report("FieldValueRequired", "messageExpression", "", "messageExpression must be non-empty if specified");
  }
  if (rule.reason !== undefined && !reasons.includes(rule.reason)) {
    const supported = reasons.map((reason) => `"${reason}"`).join(", ");
    report("FieldValueNotSupported", "reason", rule.reason, `supported values: ${supported}`);
  }
  const path = rule.fieldPath;
  if (path) {
    if (path.trim() === "") report("FieldValueInvalid", "fieldPath", path, "must be non-empty if specified");
    if (lineBreak.test(path)) report("FieldValueInvalid", "fieldPath", path, "must not contain line breaks");
    if (resolveFieldPath(path, schema) === undefined) {
      report("FieldValueInvalid", "fieldPath", path, "must be a valid path");
    }
  }
  return errors;
}

function checkExpressions(
  rules: readonly ValidationRule[],
  schema: RuleSchema,
  place: Place,
  total: TotalCost,
): RuleFieldError[] {
  const isResource = place.isRoot || (schema["x-kubernetes-embedded-resource"] ?? false);
  const decl = declTypeOf(schema, isResource, "selfType");
  if (decl === undefined) {
    return [
      {
        type: "InternalError",
        field: joinPath(place.path, "x-kubernetes-validations"),
        detail:
          "internal error: failed to construct type information for x-kubernetes-validations rules: " +
          "unable to convert structural schema to CEL declarations",
      },
    ];
  }
  const times = place.cardinality ?? maxCardinality(decl.minBytes);
  return compileNode(rules, schema, decl).flatMap((compiled, i) =>
    checkCompiled(compiled, i, place, times, total),
  );
}

function checkCompiled(
  compiled: CompiledRule,
  index: number,
  place: Place,
  times: number,
  total: TotalCost,
): RuleFieldError[] {
  const errors: RuleFieldError[] = [];
  const { rule } = compiled;
  const [ruleField, messageField] = [
    rulePath(place, index, "rule"),
    rulePath(place, index, "messageExpression"),
  ];
  const invalid = (field: string, value: JsonValue, detail: string) =>
    errors.push({ type: "FieldValueInvalid", field, value, detail });
  const forbidden = (field: string, detail: string) =>
    errors.push({ type: "FieldValueForbidden", field, value: "", detail });
  const cost = compiled.maxCost === 0 ? 0 : Math.min(compiled.maxCost * times, unbounded);
  if (cost > maxExpressionCost)
    forbidden(ruleField, overBudget("estimated rule cost", cost, maxExpressionCost));
  total.add(ruleField, cost);
  if (compiled.error !== undefined) invalid(ruleField, shownRule(rule), compiled.error);
  if (compiled.messageError !== undefined) invalid(messageField, shownRule(rule), compiled.messageError);
  else if (compiled.message !== undefined) {
    if (compiled.messageMaxCost > maxExpressionCost) {
      forbidden(
        messageField,
        overBudget("estimated messageExpression cost", compiled.messageMaxCost, maxExpressionCost),
      );
    }
    total.add(messageField, compiled.messageMaxCost);
  }
  if (!compiled.usesOldSelf) {
    if (rule.optionalOldSelf !== undefined) {
      const field = rulePath(place, index, "optionalOldSelf");
      invalid(field, rule.optionalOldSelf, "may not be set if oldSelf is not used in rule");
    }
  } else if (place.uncorrelatable !== undefined) {
    const within = place.uncorrelatable;
    invalid(
      ruleField,
      rule.rule,
      `oldSelf cannot be used on the uncorrelatable portion of the schema within ${within}`,
    );
  }
  return errors;
}

/** A rule as the API server's messages print it: its own struct, field by field. */
function shownRule(rule: ValidationRule): JsonValue {
  return {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}

function overBudget(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown =
    factor > 100
      ? "more than 100x"
      : factor < 1.5
        ? `${fixedDecimal(factor, 6)}x`
        : `${fixedDecimal(factor, 1)}x`;
  return (
    `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, ` +
    "maxProperties, and maxLength where arrays, maps, and strings are declared)"
  );
}

class TotalCost {
  #total = 0;
  #expensive: { field: string; cost: number }[] = [];

  add(field: string, cost: number): void {
    this.#total = Math.min(this.#total + cost, unbounded);
    if (cost < maxSchemaCost / 100) return;
    this.#expensive.push({ field, cost });
    this.#expensive.sort((a, b) => b.cost - a.cost);
    this.#expensive.length = Math.min(this.#expensive.length, 4);
  }

  errors(path: string): RuleFieldError[] {
    if (this.#total <= maxSchemaCost) return [];
    const forbidden = (field: string, detail: string): RuleFieldError => ({
      type: "FieldValueForbidden",
      field,
      value: "",
      detail,
    });
    const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    return [
      ...this.#expensive.map(({ field }) =>
        forbidden(
          field,
          "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        ),
      ),
      forbidden(path, overBudget(what, this.#total, maxSchemaCost)),
    ];
  }
}
