/** Runs the rules of a schema on an object, in the order and with the words of the API server. */

import type { JsonValue } from "@keelson/core";
import { byteLength, goQuote } from "@keelson/core/internal";
import type { Program } from "../program/program.ts";
import { type CelValue, Fault, Optional } from "../values/values.ts";
import { type CompiledRule, compileNode } from "./compile-rule.ts";
import { Correlation, KeyedItems, Ratchet } from "./correlation.ts";
import { type DeclType, declTypeOf, withTypeAndObjectMeta } from "./decl-type.ts";
import { escapeName } from "./escaping.ts";
import { type Reader, readerOf } from "./json-values.ts";
import type {
  RuleFieldError,
  RuleSchema,
  RuleValidation,
  ValidateRulesInput,
  ValidationRule,
} from "./types.ts";

const perCallLimit = 1_000_000;
const defaultBudget = 10_000_000;
const maxMessageBytes = 5 * 1024;

/** The rules at one schema node and below it. */
export interface RuleNode {
  readonly schema: RuleSchema;
  readonly rules: readonly CompiledRule[];
  readonly read: Reader;
  readonly readsOld: boolean;
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly values: RuleNode | undefined;
  readonly items: RuleNode | undefined;
  readonly allOf: readonly RuleNode[];
}

/** Undefined when neither the schema nor anything in it has rules. */
export function buildRuleTree(schema: RuleSchema, isResourceRoot: boolean): RuleNode | undefined {
  if (!hasRules(schema)) return undefined;
  const decl = declTypeOf(schema, isResourceRoot, "selfType");
  return buildNode(schema, schema, isResourceRoot, decl);
}

function hasRules(schema: RuleSchema): boolean {
  if ((schema["x-kubernetes-validations"]?.length ?? 0) > 0) return true;
  if (schema.items !== undefined && hasRules(schema.items)) return true;
  if (typeof schema.additionalProperties === "object" && hasRules(schema.additionalProperties)) return true;
  return Object.values(schema.properties ?? {}).some(hasRules);
}

const known = new WeakMap<RuleSchema, boolean>();

/** Whether building a node can find rules; most of a large schema has none and is not looked at further. */
function mayHaveRules(schema: RuleSchema): boolean {
  let answer = known.get(schema);
  if (answer === undefined) {
    answer = hasRules(schema) || partsOf(schema).some(mayHaveRules);
    known.set(schema, answer);
  }
  return answer;
}

function partsOf(schema: RuleSchema): RuleSchema[] {
  const { items, additionalProperties, properties = {}, allOf = [] } = schema;
  const parts = [...Object.values(properties), ...allOf];
  if (items !== undefined) parts.push(items);
  if (typeof additionalProperties === "object") parts.push(additionalProperties);
  return parts;
}

/** `rules` holds the rules, `schema` the types: inside `allOf` they are not the same. */
function buildNode(
  rules: RuleSchema,
  schema: RuleSchema,
  isResource: boolean,
  decl: DeclType | undefined,
): RuleNode | undefined {
  const own = rules["x-kubernetes-validations"] ?? [];
  const compiled = own.length === 0 || decl === undefined ? [] : compileNode(own, schema, decl);
  const items = buildChild(rules.items, schema.items, decl?.element);
  const values = buildChild(
    schemaOf(rules.additionalProperties),
    schemaOf(schema.additionalProperties),
    decl?.element,
  );
  const properties = buildProperties(rules, schema, decl);
  const allOf = (rules.allOf ?? [])
    .map((part) => buildNode(part, schema, isResource, decl))
    .filter((node) => node !== undefined);
  if (compiled.length === 0 && !items && !values && properties.size === 0 && allOf.length === 0)
    return undefined;
  const whole = isResource ? withTypeAndObjectMeta(schema) : schema;
  return {
    schema: whole,
    rules: compiled,
    read: readerOf(whole),
    readsOld: compiled.some((rule) => rule.usesOldSelf),
    properties,
    values,
    items,
    allOf,
  };
}

function schemaOf(value: RuleSchema | boolean | undefined): RuleSchema | undefined {
  return typeof value === "object" ? value : undefined;
}

/** The declaration of a part, under a name of its own, as the root of its rules. */
function ownDecl(schema: RuleSchema, inherited: DeclType | undefined): DeclType | undefined {
  if (inherited === undefined) return undefined;
  return declTypeOf(schema, schema["x-kubernetes-embedded-resource"] ?? false, "selfType");
}

function buildChild(
  rules: RuleSchema | undefined,
  schema: RuleSchema | undefined,
  decl: DeclType | undefined,
): RuleNode | undefined {
  if (rules === undefined || schema === undefined) return undefined;
  return buildNode(rules, schema, schema["x-kubernetes-embedded-resource"] ?? false, ownDecl(schema, decl));
}

function buildProperties(
  rules: RuleSchema,
  schema: RuleSchema,
  decl: DeclType | undefined,
): Map<string, RuleNode> {
  const nodes = new Map<string, RuleNode>();
  for (const [name, property] of Object.entries(rules.properties ?? {})) {
    const target = schema.properties?.[name];
    if (target === undefined || !mayHaveRules(property)) continue;
    const escaped = escapeName(name);
    // A field that expressions cannot see has no rules; one they cannot name may still have its own.
    if (escaped !== undefined && !decl?.fields?.has(escaped)) continue;
    const isResource = target["x-kubernetes-embedded-resource"] ?? false;
    const fieldDecl = declTypeOf(target, isResource, "selfType");
    if (fieldDecl === undefined) continue;
    const node = buildNode(property, target, isResource, fieldDecl);
    if (node !== undefined) nodes.set(name, node);
  }
  return nodes;
}

export function runRules(root: RuleNode, input: ValidateRulesInput): RuleValidation {
  const run = new Run(input.costBudget ?? defaultBudget);
  const old = input.oldSelf ?? undefined;
  const ratcheting = (input.ratcheting ?? true) && old !== undefined;
  const ratchet = ratcheting ? new Ratchet(new Correlation(root.schema, input.self, old)) : Ratchet.none;
  run.node(root, input.path ?? "", input.self, old, ratchet);
  return { errors: run.errors, warnings: run.warnings, remainingBudget: run.budget };
}

class Run {
  readonly errors: RuleFieldError[] = [];
  readonly warnings: string[] = [];
  budget: number;

  constructor(budget: number) {
    this.budget = budget;
  }

  /** Returns false when the budget is gone and nothing more may run. */
  node(node: RuleNode, path: string, value: unknown, old: unknown, ratchet: Ratchet): boolean {
    if (value === null || value === undefined) return true;
    if (!this.#rules(node, path, value, old ?? undefined, ratchet)) return false;
    for (const part of node.allOf) {
      if (!this.node(part, path, value, old, ratchet.allOf())) return false;
    }
    if (Array.isArray(value)) return this.#array(node, path, value, old, ratchet);
    if (typeof value === "object") return this.#object(node, path, value, old, ratchet);
    return true;
  }

  #array(node: RuleNode, path: string, value: readonly unknown[], old: unknown, ratchet: Ratchet): boolean {
    if (node.items === undefined) return true;
    const oldItems = new KeyedItems(node.schema, Array.isArray(old) ? old : []);
    for (const [i, item] of value.entries()) {
      if (!this.node(node.items, `${path}[${i}]`, item, oldItems.get(item), ratchet.index(i))) return false;
    }
    return true;
  }

  #object(node: RuleNode, path: string, value: object, old: unknown, ratchet: Ratchet): boolean {
    const mapType = node.schema["x-kubernetes-map-type"];
    const correlatable = mapType === undefined || mapType === "granular" || mapType === "atomic";
    const known = correlatable && typeof old === "object" && old !== null && !Array.isArray(old);
    const before: Readonly<Record<string, unknown>> = known ? (old as Record<string, unknown>) : {};
    const entries = Object.entries(value);
    if (node.values !== undefined) {
      for (const [key, item] of entries) {
        if (!this.node(node.values, `${path}[${key}]`, item, before[key], ratchet.key(key))) return false;
      }
    }
    for (const [key, item] of entries) {
      const property = node.properties.get(key);
      if (property === undefined) continue;
      const at = path === "" ? key : `${path}.${key}`;
      if (!this.node(property, at, item, before[key], ratchet.key(key))) return false;
    }
    return true;
  }

  #rules(node: RuleNode, path: string, value: unknown, old: unknown, ratchet: Ratchet): boolean {
    if (node.rules.length === 0) return true;
    const field = path === "" ? "<nil>" : path;
    if (this.budget <= 0) return this.#outOfBudget(node, field);
    const self = node.read(value);
    const oldSelf = node.readsOld && old !== undefined ? node.read(old) : undefined;
    for (const compiled of node.rules) {
      if (
        !this.#rule({ node, compiled, path, field, value, self, oldSelf, hasOld: old !== undefined, ratchet })
      ) {
        return false;
      }
    }
    return true;
  }

  #rule(at: RuleRun): boolean {
    const { node, compiled, field, self, oldSelf } = at;
    const { rule, program } = compiled;
    const type = node.schema.type ?? "";
    if (compiled.error !== undefined) {
      this.errors.push(invalid(field, type, `rule compile error: ${compiled.error}`));
      return true;
    }
    if (program === undefined) return true;
    const optional = rule.optionalOldSelf ?? false;
    if (compiled.usesOldSelf && !at.hasOld && !optional) return true;
    const wrapped = oldSelf === undefined ? Optional.none : Optional.of(oldSelf);
    const { value, cost } = program.run([self, optional && node.readsOld ? wrapped : oldSelf], perCallLimit);
    if (cost > this.budget) return this.#outOfBudget(node, field);
    this.budget -= cost;
    if (value instanceof Fault) return this.#failed(field, type, rule, value.message);
    if (value === true) return true;
    return this.#refuse(at);
  }

  /** The rule could not be evaluated. */
  #failed(field: string, type: string, rule: ValidationRule, message: string): boolean {
    const shown = ruleText(rule);
    if (message.startsWith("no such overload")) {
      this.errors.push(
        invalid(
          field,
          type,
          `'${message}': call arguments did not match a supported operator, function or macro signature ` +
            `for rule: ${shown}`,
        ),
      );
      return true;
    }
    if (message.startsWith("operation cancelled: actual cost limit exceeded")) {
      this.errors.push(
        invalid(
          field,
          type,
          `'${message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`,
        ),
      );
      this.budget = -1;
      return false;
    }
    this.errors.push(invalid(field, type, `${message} evaluating rule: ${shown}`));
    return true;
  }

  /** The rule is false. */
  #refuse(at: RuleRun): boolean {
    const { node, compiled, path, value, ratchet } = at;
    const { rule } = compiled;
    const relative = compiled.fieldPath;
    const field = relative === "" ? at.field : path === "" ? relative : `${path}.${relative}`;
    const report = (error: RuleFieldError): void => {
      if (!compiled.usesOldSelf && ratchet.unchanged) this.warnings.push(errorText(error));
      else this.errors.push(error);
    };
    let detail = rule.message ? rule.message.trim() : `failed rule: ${ruleText(rule)}`;
    if (compiled.message !== undefined) {
      const message = this.#message(compiled.message, rule.messageExpression ?? "", [at.self, at.oldSelf]);
      if (message.stop !== undefined) {
        report(invalid(field, node.schema.type ?? "", message.stop));
        this.budget = -1;
        return false;
      }
      detail = message.text ?? detail;
    }
    const { type } = node.schema;
    const shown = type === "object" || type === "array" ? undefined : (value as JsonValue);
    report(errorFor(rule.reason, field, shown, detail));
    return true;
  }

  /** The text of a message expression; neither field when it gave none that can be used. */
  #message(
    program: Program,
    source: string,
    vars: readonly (CelValue | undefined)[],
  ): { text?: string; stop?: string } {
    const { value, cost } = program.run(vars, perCallLimit);
    if (cost > this.budget) {
      return {
        stop:
          "messageExpression evaluation failed due to running out of cost budget, " +
          "no further validation rules will be run",
      };
    }
    if (value instanceof Fault && value.message.startsWith("operation cancelled")) {
      return {
        stop:
          "no further validation rules will be run due to call cost exceeds limit for messageExpression: " +
          goQuote(source),
      };
    }
    this.budget -= cost;
    if (typeof value !== "string") return {};
    const text = value.trim();
    const usable = text !== "" && !text.includes("\n") && byteLength(text) <= maxMessageBytes;
    return usable ? { text } : {};
  }

  #outOfBudget(node: RuleNode, field: string): boolean {
    this.errors.push(
      invalid(
        field,
        node.schema.type ?? "",
        "validation failed due to running out of cost budget, no further validation rules will be run",
      ),
    );
    this.budget = -1;
    return false;
  }
}

interface RuleRun {
  readonly node: RuleNode;
  readonly compiled: CompiledRule;
  readonly path: string;
  readonly field: string;
  readonly value: unknown;
  readonly self: CelValue;
  readonly oldSelf: CelValue | undefined;
  readonly hasOld: boolean;
  readonly ratchet: Ratchet;
}

function invalid(field: string, value: JsonValue | undefined, detail: string): RuleFieldError {
  return { type: "FieldValueInvalid", field, value, detail };
}

function errorFor(
  reason: string | undefined,
  field: string,
  value: JsonValue | undefined,
  detail: string,
): RuleFieldError {
  switch (reason) {
    case "FieldValueForbidden":
      return { type: "FieldValueForbidden", field, value: "", detail };
    case "FieldValueRequired":
      return { type: "FieldValueRequired", field, value: "", detail };
    case "FieldValueDuplicate":
      return { type: "FieldValueDuplicate", field, value, detail: "" };
    default:
      return invalid(field, value, detail);
  }
}

function ruleText(rule: ValidationRule): string {
  return (rule.message ? rule.message : rule.rule).trim();
}

const phrases: Readonly<Record<RuleFieldError["type"], string>> = {
  FieldValueInvalid: "Invalid value",
  FieldValueForbidden: "Forbidden",
  FieldValueRequired: "Required value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueNotSupported: "Unsupported value",
  InternalError: "Internal error",
};

/** One error as one line, as the API server prints it. */
export function errorText({ type, field, value, detail }: RuleFieldError): string {
  const shows =
    type === "FieldValueInvalid" || type === "FieldValueDuplicate" || type === "FieldValueNotSupported";
  const parts = [`${field}: ${phrases[type]}`];
  if (shows && value !== undefined)
    parts.push(typeof value === "string" ? goQuote(value) : JSON.stringify(value));
  if (detail !== "") parts.push(detail);
  return parts.join(": ");
}
