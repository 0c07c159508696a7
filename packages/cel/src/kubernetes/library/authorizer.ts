/** Questions to the authorizer: `authorizer.group("").resource("pods").check("create").allowed()`. */
import { validateDns1123Label, validateDns1123Subdomain } from "@keelson/core";
import { listCreateCost, sizeOf, stringTraversalFactor, structCreateCost } from "../../check/cost.ts";
import { type CostModel, type FunctionDecl, type Library, member } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { fixed, plus, type SizeRange, scale } from "../../values/cost-range.ts";
import { type CelType, objectType, types } from "../../values/types.ts";
import { type CelValue, type Fault, fault, Opaque } from "../../values/values.ts";
import { unitCost } from "./costs.ts";

/** Who asks. */
export interface AuthorizerUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What is asked: either a path or a resource. */
export type AuthorizerQuestion =
  | { readonly user: AuthorizerUser; readonly verb: string; readonly path: string }
  | {
      readonly user: AuthorizerUser;
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
      /** As written in the expression; empty for none. */
      readonly fieldSelector: string;
      readonly labelSelector: string;
    };

export interface AuthorizerAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  /** Present when the question could not be answered. */
  readonly error?: string;
}

/** Answers at once: an expression cannot wait. */
export type CelAuthorizer = (question: AuthorizerQuestion) => AuthorizerAnswer;

const { bool, string } = types;

function namedType(name: string): CelType {
  return { ...objectType(`kubernetes.authorization.${name}`), equalityCost: () => fixed(1) };
}

/** The type of the `authorizer` variable. */
export const authorizerType = namedType("Authorizer");
const pathType = namedType("PathCheck");
const groupType = namedType("GroupCheck");
/** The type of the `authorizer.requestResource` variable. */
export const resourceCheckType = namedType("ResourceCheck");
const decisionType = namedType("Decision");

/** These can only be asked, never compared. */
abstract class Step extends Opaque {
  equals(): Fault {
    return noSuchOverload;
  }
}

class AuthorizerValue extends Step {
  readonly type = authorizerType;
  readonly user: AuthorizerUser;
  readonly authorize: CelAuthorizer;

  constructor(user: AuthorizerUser, authorize: CelAuthorizer) {
    super();
    this.user = user;
    this.authorize = authorize;
  }
}

class PathCheck extends Step {
  readonly type = pathType;
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Step {
  readonly type = groupType;
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

interface ResourceParts {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

class ResourceCheck extends Step {
  readonly type = resourceCheckType;
  readonly authorizer: AuthorizerValue;
  readonly parts: ResourceParts;

  constructor(authorizer: AuthorizerValue, parts: ResourceParts) {
    super();
    this.authorizer = authorizer;
    this.parts = parts;
  }
}

class Decision extends Step {
  readonly type = decisionType;
  readonly answer: AuthorizerAnswer;

  constructor(answer: AuthorizerAnswer) {
    super();
    this.answer = answer;
  }
}

/** The value of the `authorizer` variable. */
export function authorizerValue(user: AuthorizerUser, authorize: CelAuthorizer): CelValue {
  return new AuthorizerValue(user, authorize);
}

/** The value of `authorizer.requestResource`: a check of the resource that the request is about. */
export function resourceAuthorizerValue(
  user: AuthorizerUser,
  authorize: CelAuthorizer,
  resource: Pick<ResourceParts, "group" | "resource" | "subresource" | "namespace" | "name">,
): CelValue {
  return new ResourceCheck(new AuthorizerValue(user, authorize), {
    ...resource,
    fieldSelector: "",
    labelSelector: "",
  });
}

const emptyParts = { subresource: "", namespace: "", name: "", fieldSelector: "", labelSelector: "" };

type Args = readonly CelValue[];

function path([authorizer, text]: Args): CelValue {
  if (!(authorizer instanceof AuthorizerValue) || typeof text !== "string") return noSuchOverload;
  return text.trim() === "" ? fault("path must not be empty") : new PathCheck(authorizer, text);
}

function group([authorizer, name]: Args): CelValue {
  if (!(authorizer instanceof AuthorizerValue) || typeof name !== "string") return noSuchOverload;
  return new GroupCheck(authorizer, name);
}

function serviceAccount([authorizer, namespace, name]: Args): CelValue {
  if (!(authorizer instanceof AuthorizerValue)) return noSuchOverload;
  if (typeof namespace !== "string" || typeof name !== "string") return noSuchOverload;
  if (validateDns1123Subdomain(name).length > 0) return fault("Invalid service account name");
  if (validateDns1123Label(namespace).length > 0) return fault("Invalid service account namespace");
  const user = {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
  };
  return new AuthorizerValue(user, authorizer.authorize);
}

function resource([check, name]: Args): CelValue {
  if (!(check instanceof GroupCheck) || typeof name !== "string") return noSuchOverload;
  if (name.trim() === "") return fault("resource must not be empty");
  return new ResourceCheck(check.authorizer, { ...emptyParts, group: check.group, resource: name });
}

function withPart(key: keyof typeof emptyParts) {
  return ([check, text]: Args): CelValue =>
    check instanceof ResourceCheck && typeof text === "string"
      ? new ResourceCheck(check.authorizer, { ...check.parts, [key]: text })
      : noSuchOverload;
}

function ask([check, verb]: Args): CelValue {
  if (typeof verb !== "string") return noSuchOverload;
  if (check instanceof PathCheck) {
    const { user, authorize } = check.authorizer;
    return new Decision(authorize({ user, verb, path: check.path }));
  }
  if (!(check instanceof ResourceCheck)) return noSuchOverload;
  const { user, authorize } = check.authorizer;
  return new Decision(authorize({ user, verb, ...check.parts }));
}

function onDecision(take: (answer: AuthorizerAnswer) => CelValue) {
  return ([decision]: Args): CelValue =>
    decision instanceof Decision ? take(decision.answer) : noSuchOverload;
}

/** Set so high that an expression can ask twice and no more. */
const checkCost: CostModel = { before: () => 350_000, estimate: () => fixed(350_000) };

/** A selector is parsed into requirements, the shortest of which takes two characters. */
function selectorCost(length: SizeRange): SizeRange {
  const requirements = scale(scale(length, 0.5), listCreateCost + structCreateCost);
  return plus(plus(fixed(listCreateCost), scale(length, stringTraversalFactor)), requirements);
}

const selectorCosts: CostModel = {
  before: (args) => selectorCost(fixed(sizeOf(args[1] as CelValue))).max,
  estimate: ({ args, size }) => (args[0] === undefined ? undefined : selectorCost(size(args[0]))),
};

function part(
  name: string,
  id: string,
  key: keyof typeof emptyParts,
  cost: CostModel = unitCost,
): FunctionDecl {
  return {
    name,
    cost,
    overloads: [member(id, [resourceCheckType, string], resourceCheckType, withPart(key))],
  };
}

const functions: readonly FunctionDecl[] = [
  {
    name: "path",
    cost: unitCost,
    overloads: [member("authorizer_path", [authorizerType, string], pathType, path)],
  },
  {
    name: "group",
    cost: unitCost,
    overloads: [member("authorizer_group", [authorizerType, string], groupType, group)],
  },
  {
    name: "serviceAccount",
    cost: unitCost,
    overloads: [
      member("authorizer_serviceaccount", [authorizerType, string, string], authorizerType, serviceAccount),
    ],
  },
  {
    name: "resource",
    cost: unitCost,
    overloads: [member("groupcheck_resource", [groupType, string], resourceCheckType, resource)],
  },
  part("subresource", "resourcecheck_subresource", "subresource"),
  part("namespace", "resourcecheck_namespace", "namespace"),
  part("name", "resourcecheck_name", "name"),
  part("fieldSelector", "authorizer_fieldselector", "fieldSelector", selectorCosts),
  part("labelSelector", "authorizer_labelselector", "labelSelector", selectorCosts),
  {
    name: "check",
    cost: checkCost,
    overloads: [
      member("pathcheck_check", [pathType, string], decisionType, ask),
      member("resourcecheck_check", [resourceCheckType, string], decisionType, ask),
    ],
  },
  {
    name: "errored",
    cost: unitCost,
    overloads: [
      member(
        "decision_errored",
        [decisionType],
        bool,
        onDecision(({ error }) => error !== undefined),
      ),
    ],
  },
  {
    name: "error",
    cost: unitCost,
    overloads: [
      member(
        "decision_error",
        [decisionType],
        string,
        onDecision(({ error }) => error ?? ""),
      ),
    ],
  },
  {
    name: "allowed",
    cost: unitCost,
    overloads: [
      member(
        "decision_allowed",
        [decisionType],
        bool,
        onDecision(({ allowed }) => allowed),
      ),
    ],
  },
  {
    name: "reason",
    cost: unitCost,
    overloads: [
      member(
        "decision_reason",
        [decisionType],
        string,
        onDecision(({ reason }) => reason),
      ),
    ],
  },
];

export const authorizerLibrary: Library = { name: "kubernetes.authz", functions };
