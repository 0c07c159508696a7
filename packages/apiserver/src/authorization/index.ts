/** What a user may do: the modes of --authorization-mode, access reviews, and the default roles. */

import type { Authorizer } from "../contracts/authorization.ts";
import { FlagError, listOf } from "../contracts/flags.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginContext, PluginFactory } from "../contracts/plugin.ts";
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

export const authorization: PluginFactory = (context) => {
  const bindings = new Bindings(context.store);
  const modes = modesOf(context.flag("authorization-mode"));
  return {
    authorizers: modes.map((mode) => authorizerOf(mode, bindings, context)),
    admission: modes.includes("RBAC") ? [escalationCheck(bindings, context.authorizer)] : [],
    virtual: accessReviews(context.authorizer),
    bootstrap: () => bootstrapObjects() as unknown as ApiObject[],
  };
};

/** Throws for none, and for one that is there twice. */
function modesOf(flag: string | undefined): string[] {
  const modes = flag === undefined ? ["RBAC"] : listOf(flag);
  if (modes.length === 0) throw new FlagError("at least one --authorization-mode must be given");
  if (new Set(modes).size < modes.length)
    throw new FlagError(`--authorization-mode ${JSON.stringify(flag)} has a mode more than once`);
  return modes;
}

function authorizerOf(mode: string, bindings: Bindings, { store }: PluginContext): Authorizer {
  switch (mode) {
    case "RBAC":
      return new RbacAuthorizer(bindings);
    case "AlwaysAllow":
      return alwaysAllow;
    case "AlwaysDeny":
      return alwaysDeny;
    case "Node":
      return new NodeAuthorizer(store);
    default:
      throw new FlagError(
        `--authorization-mode ${JSON.stringify(mode)} is not known; there are AlwaysAllow, AlwaysDeny, Node and RBAC`,
      );
  }
}
