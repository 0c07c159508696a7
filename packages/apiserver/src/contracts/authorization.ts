/** What is asked for, and whether it is allowed: the contract of authorizers. */
import type { FieldSelector, JsonObject } from "@keelson/core";
import type { UserInfo } from "./authentication.ts";

/** What is asked for. For a request without a resource `resource` is empty and `path` says which. */
export interface Attributes {
  readonly user: UserInfo;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or lower-case HTTP. */
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
  /** What is left after it is all that is asked for; only lists, watches and deletecollections have one. */
  readonly fieldSelector?: FieldSelector;
}

export interface Decision {
  readonly decision: "allow" | "deny" | "no-opinion";
  /** Appended to the 403's message when not empty. */
  readonly reason: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /** Rules for SelfSubjectRulesReview. */
  rulesFor?(user: UserInfo, namespace: string): SubjectRules;
}

export interface SubjectRules {
  readonly resourceRules: readonly JsonObject[];
  readonly nonResourceRules: readonly JsonObject[];
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}
