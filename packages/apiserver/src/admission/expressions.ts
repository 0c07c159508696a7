/** What expressions of admission see of a request, and conditions that narrow it down. */

import {
  AdmissionCompiler,
  type AdmissionExpression,
  type AdmissionInput,
  type AuthorizerAnswer,
  type AuthorizerQuestion,
  authorizerValue,
  type CelAuthorizer,
  matchConditionsCostBudget,
  resourceAuthorizerValue,
  types,
} from "@keelson/cel";
import type { JsonObject, JsonValue } from "@keelson/core";
import type { MatchCondition } from "@keelson/core/kinds";
import type { AdmissionRequest } from "../contracts/admission.ts";
import type { UserInfo } from "../contracts/authentication.ts";
import type { Authorizer } from "../contracts/authorization.ts";
import type { ApiObject } from "../contracts/object.ts";
import { type Match, requestName, requestNamespace } from "./matching.ts";

/** The AdmissionRequest without its objects, as webhooks and expressions see it. */
export function requestJson(request: AdmissionRequest, { kind, resource }: Match): JsonObject {
  const { subresource, operation, dryRun, options, user } = request;
  const namespace = requestNamespace(request);
  const name = requestName(request);
  return {
    kind: { group: kind.group, version: kind.version, kind: kind.kind },
    resource: { group: resource.group, version: resource.version, resource: resource.resource },
    ...(subresource && { subResource: subresource }),
    requestKind: { ...request.kind },
    requestResource: { ...request.resource },
    ...(subresource && { requestSubResource: subresource }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    operation,
    userInfo: userJson(user),
    dryRun,
    options: options ?? null,
  };
}

export function userJson({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username: name,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra &&
      Object.keys(extra).length > 0 && {
        extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
      }),
  };
}

/** Objects in the version of the match; the request's own when it is that version. */
export interface VersionedObjects {
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
}

export interface InputParts {
  readonly request: AdmissionRequest;
  readonly match: Match;
  readonly objects: VersionedObjects;
  readonly authorizer: Authorizer;
  readonly params?: JsonValue | undefined;
  readonly namespace?: ApiObject | undefined;
}

export function inputOf({
  request,
  match,
  objects,
  authorizer,
  params,
  namespace,
}: InputParts): AdmissionInput {
  const ask = asking(authorizer);
  const { user } = request;
  return {
    object: objects.object ?? null,
    oldObject: objects.oldObject ?? null,
    request: requestJson(request, match),
    params: params ?? null,
    namespaceObject: namespace ? namespaceJson(namespace) : null,
    authorizer: authorizerValue(user, ask),
    requestResource: resourceAuthorizerValue(user, ask, {
      group: request.resource.group,
      resource: request.resource.resource,
      subresource: request.subresource,
      namespace: requestNamespace(request),
      name: requestName(request),
    }),
  };
}

/** Owners and field managers are nobody's business. */
function namespaceJson({ metadata, spec, status }: ApiObject): JsonObject {
  const { managedFields: _, ownerReferences: __, selfLink: ___, ...meta } = metadata;
  return { metadata: meta, ...(spec !== undefined && { spec }), ...(status !== undefined && { status }) };
}

/** Expressions cannot wait, so an authorizer that must be waited for has no answer for them. */
function asking(authorizer: Authorizer): CelAuthorizer {
  return (question: AuthorizerQuestion): AuthorizerAnswer => {
    const { user, verb } = question;
    const common = {
      user: { ...user, groups: user.groups ?? [] },
      verb,
      version: "*",
      ...("path" in question
        ? {
            resourceRequest: false,
            group: "",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
            path: question.path,
          }
        : {
            resourceRequest: true,
            group: question.group,
            resource: question.resource,
            subresource: question.subresource,
            namespace: question.namespace,
            name: question.name,
            path: "",
          }),
    };
    const decided = authorizer.authorize(common);
    if (decided instanceof Promise)
      return { allowed: false, reason: "", error: "the authorizer does not answer at once" };
    return { allowed: decided.decision === "allow", reason: decided.reason };
  };
}

const plain = new AdmissionCompiler({ hasAuthorizer: true });

/** Conditions that must all hold. */
export class MatchConditions {
  readonly #compiler: AdmissionCompiler;
  readonly #expressions: readonly AdmissionExpression[];

  /** Those of a policy share its compiler. */
  constructor(conditions: readonly MatchCondition[], compiler: AdmissionCompiler = plain) {
    this.#compiler = compiler;
    this.#expressions = conditions.map(({ expression }) => compiler.compile(expression, [types.bool]));
  }

  get isEmpty(): boolean {
    return this.#expressions.length === 0;
  }

  /** A condition that is false decides, even when others cannot be evaluated. */
  match(input: AdmissionInput): { readonly matches: boolean; readonly error?: string } {
    if (this.isEmpty) return { matches: true };
    const { results, error } = this.#compiler.evaluate(this.#expressions, input, matchConditionsCostBudget);
    if (error !== undefined) return { matches: false, error };
    if (results.some(({ value }) => value === false)) return { matches: false };
    const errors = results.flatMap((result) => (result.error === undefined ? [] : [result.error]));
    if (errors.length === 0) return { matches: true };
    const unique = [...new Set(errors)];
    return { matches: false, error: unique.length === 1 ? (unique[0] as string) : `[${unique.join(", ")}]` };
  }
}
