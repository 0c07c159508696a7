/** What the Kubernetes layer takes and gives: schemas with rules in, field errors out. */
import type { JsonValue } from "@keelson/core";

/** One entry of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** A structural schema, as far as rules look at it. */
export interface RuleSchema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, RuleSchema>>;
  readonly additionalProperties?: RuleSchema | boolean;
  readonly items?: RuleSchema;
  readonly allOf?: readonly RuleSchema[];
  readonly anyOf?: readonly RuleSchema[];
  readonly oneOf?: readonly RuleSchema[];
  readonly not?: RuleSchema;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
}

/** An error at a field, in the API server's terms: `reason`, field and the two halves of its message. */
export interface RuleFieldError {
  readonly type:
    | "FieldValueInvalid"
    | "FieldValueForbidden"
    | "FieldValueRequired"
    | "FieldValueDuplicate"
    | "FieldValueNotSupported"
    | "InternalError";
  /** As `spec.ports[0].name`. */
  readonly field: string;
  /** Shown in the message of an invalid or duplicate value; undefined leaves it out. */
  readonly value?: JsonValue | undefined;
  readonly detail: string;
}

/** What the rules of a schema are compiled with. */
export interface CompileRulesOptions {
  /** Where the schema stands, as the start of every error's field. Default none. */
  readonly path?: string;
  /** The schema describes a whole resource, whose name and kind rules may read. Default true. */
  readonly isResourceRoot?: boolean;
}

/** The rules of one schema and everything below it, ready to run. */
export interface CompiledRules {
  /** False when there is nothing to validate. */
  readonly hasRules: boolean;
  /** What is wrong with the rules themselves: why the API server would refuse the CRD. */
  readonly errors: readonly RuleFieldError[];
  validate(input: ValidateRulesInput): RuleValidation;
}

/** The object that is validated, and the one before it. */
export interface ValidateRulesInput {
  /** The object as JSON; integers beyond 2^53 as raw numbers. */
  readonly self: unknown;
  /** The object before the update; absent on create. */
  readonly oldSelf?: unknown;
  /** The start of every error's field. Default none. */
  readonly path?: string;
  /** Cost that all rules together may use. Default 10,000,000. */
  readonly costBudget?: number;
  /**
   * Whether a rule that fails on a value the update did not change only warns. Default true, as the API
   * server does; rules that read `oldSelf` always count.
   */
  readonly ratcheting?: boolean;
}

/** A rule that an object does not pass. */
export interface RuleValidation {
  readonly errors: readonly RuleFieldError[];
  /** Failures that ratcheting let pass. */
  readonly warnings: readonly string[];
  /** Negative when the budget ran out; then not every rule was run. */
  readonly remainingBudget: number;
}
