/** What a user may do: the modes of --authorization-mode, access reviews, and the default roles. */

import type { ApiObject, Authorizer, HookContext, HookFactory } from "../hooks.ts";
import { bootstrapObjects } from "../tables/index.ts";
import { Bindings } from "./bindings.ts";
import { escalationCheck } from "./escalation.ts";
import { NodeAuthorizer } from "./node.ts";
import { RbacAuthorizer } from "./rbac.ts";
import { accessReviews } from "./reviews.ts";

const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
};
const nothing = { resourceRules: [], nonResourceRules: [], incomplete: false };

export const alwaysAllow: Authorizer = {
  authorize: () => ({ decision: "allow", reason: "" }),
  rulesFor: () => everything,
};

export const alwaysDeny: Authorizer = {
  authorize: () => ({ decision: "no-opinion", reason: "Everything is forbidden." }),
  rulesFor: () => nothing,
};

export const authorization: HookFactory = (context) => {
  const bindings = new Bindings(context.store);
  const modes = (context.flag("authorization-mode") ?? "RBAC").split(",");
  return {
    authorizers: modes.flatMap((mode) => authorizerOf(mode.trim(), bindings, context)),
    admission: modes.includes("RBAC") ? [escalationCheck(bindings, context.authorizer)] : [],
    virtual: accessReviews(context.authorizer),
    bootstrap: () => bootstrapObjects() as unknown as ApiObject[],
  };
};

function authorizerOf(mode: string, bindings: Bindings, { store }: HookContext): Authorizer[] {
  switch (mode) {
    case "RBAC":
      return [new RbacAuthorizer(bindings)];
    case "AlwaysAllow":
      return [alwaysAllow];
    case "AlwaysDeny":
      return [alwaysDeny];
    case "Node":
      return [new NodeAuthorizer(store)];
    default:
      throw new Error(`--authorization-mode ${JSON.stringify(mode)} is not known`);
  }
}
