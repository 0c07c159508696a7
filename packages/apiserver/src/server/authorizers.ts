/** All authorizers as one, and the two that every server has. */
import { timingSafeEqual } from "node:crypto";
import type { Authenticator, UserInfo } from "../contracts/authentication.ts";
import type { Attributes, Authorizer, Decision } from "../contracts/authorization.ts";
import { denied } from "../contracts/denied.ts";
import type { StatusError } from "../contracts/status-error.ts";
import { header } from "../messages/message.ts";
import type { Exchange } from "../rest/exchange.ts";

/** The user of requests that need no credentials: a member of `system:masters`. */
export const administrator: UserInfo = { name: "admin", groups: ["system:masters"] };

export const masters: Authorizer = {
  authorize: ({ user }) =>
    user.groups.includes("system:masters")
      ? { decision: "allow", reason: "" }
      : { decision: "no-opinion", reason: "" },
};

export const allowAll: Authorizer = { authorize: () => ({ decision: "allow", reason: "" }) };

/** The first that allows or denies decides; reasons of those without an opinion add up. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    // At once when all of them answer at once: expressions cannot wait.
    authorize(attributes: Attributes): Decision | Promise<Decision> {
      return ask(authorizers, attributes, [], 0);
    },
    rulesFor(user, namespace) {
      const rules = authorizers.map((authorizer) => authorizer.rulesFor?.(user, namespace));
      return {
        resourceRules: rules.flatMap((set) => set?.resourceRules ?? []),
        nonResourceRules: rules.flatMap((set) => set?.nonResourceRules ?? []),
        incomplete: rules.some((set) => set?.incomplete ?? false),
      };
    },
  };
}

function ask(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  reasons: string[],
  from: number,
): Decision | Promise<Decision> {
  for (let i = from; i < authorizers.length; i++) {
    const decided = (authorizers[i] as Authorizer).authorize(attributes);
    if (decided instanceof Promise) return askOn(decided, authorizers, attributes, reasons, i + 1);
    if (decided.decision !== "no-opinion") return decided;
    if (decided.reason) reasons.push(decided.reason);
  }
  return { decision: "no-opinion", reason: reasons.join("\n") };
}

async function askOn(
  pending: Promise<Decision>,
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  reasons: string[],
  next: number,
): Promise<Decision> {
  const decided = await pending;
  if (decided.decision !== "no-opinion") return decided;
  if (decided.reason) reasons.push(decided.reason);
  return ask(authorizers, attributes, reasons, next);
}

/** Whether the user of an update may also create: for a PUT of what is not there. */
export async function authorizeCreate(
  authorizer: Authorizer,
  exchange: Exchange,
): Promise<StatusError | undefined> {
  const { info, user } = exchange;
  const attributes: Attributes = {
    user,
    verb: "create",
    resourceRequest: true,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  };
  const { decision, reason } = await authorizer.authorize(attributes);
  return decision === "allow" ? undefined : denied(attributes, reason);
}

/** Who brings the administrator's token. */
export function adminToken(token: string | undefined): Authenticator[] {
  if (token === undefined) return [];
  const expected = Buffer.from(`Bearer ${token}`);
  return [
    {
      authenticate: ({ headers }) => {
        const given = Buffer.from(header(headers, "authorization") ?? "");
        // How long this takes says nothing about how far the two agree.
        return given.length === expected.length && timingSafeEqual(given, expected)
          ? administrator
          : undefined;
      },
    },
  ];
}
