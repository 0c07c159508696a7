/** Acting as somebody else, for those who may: the Impersonate headers and what they ask of the authorizer. */
import type { HttpHeaders } from "@keelson/core";
import { goQuote, lookupTable } from "@keelson/core/internal";
import type { UserInfo } from "../contracts/authentication.ts";
import type { Attributes, Authorizer } from "../contracts/authorization.ts";
import { denied } from "../contracts/denied.ts";
import type { Plugins } from "../contracts/plugin.ts";
import { badRequest, StatusError } from "../contracts/status-error.ts";
import { serviceAccountGroups } from "./service-account-tokens.ts";

const extraPrefix = "impersonate-extra-";
const authenticationGroup = "authentication.k8s.io";

interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Ways to be somebody else: what is limited to some users and requests, then what is not. */
interface Mode {
  /** Part of the verbs; absent for plain `impersonate`. */
  readonly name?: "associated-node" | "arbitrary-node" | "serviceaccount" | "user-info";
  applies(wanted: Wanted, requester: UserInfo): boolean;
}

const modes: readonly Mode[] = [
  {
    name: "associated-node",
    applies: (wanted, { extra }) =>
      isBare(wanted) &&
      nodeName(wanted.name) !== undefined &&
      extra?.["authentication.kubernetes.io/node-name"]?.[0] === nodeName(wanted.name),
  },
  { name: "arbitrary-node", applies: (wanted) => isBare(wanted) && nodeName(wanted.name) !== undefined },
  { name: "serviceaccount", applies: (wanted) => isBare(wanted) && accountOf(wanted.name) !== undefined },
  {
    name: "user-info",
    applies: ({ name }) => nodeName(name) === undefined && accountOf(name) === undefined,
  },
  { applies: () => true },
];

const maxRemembered = 10_000;

/** What worked for a user before is tried first; of several refusals the client reads the first. */
export function impersonation(): NonNullable<Plugins["impersonate"]> {
  const worked = new Map<string, Mode>();
  const impersonate = async (
    wanted: Wanted,
    user: UserInfo,
    authorizer: Authorizer,
    attributes: Attributes,
  ): Promise<UserInfo> => {
    const first = worked.get(user.name);
    const order = first ? [first, ...modes.filter((mode) => mode !== first)] : modes;
    let refusal: StatusError | undefined;
    for (const mode of order) {
      if (!mode.applies(wanted, user)) continue;
      try {
        const became = await become(mode, wanted, user, authorizer, attributes);
        if (worked.size >= maxRemembered) worked.clear();
        worked.set(user.name, mode);
        return became;
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        refusal ??= error;
      }
    }
    throw refusal ?? new Error("all impersonation modes failed");
  };
  return ({ headers }, user, authorizer, attributes) => {
    const wanted = wantedUser(headers);
    return wanted ? impersonate(wanted, user, authorizer, attributes()) : user;
  };
}

function wantedUser(headers: HttpHeaders): Wanted | undefined {
  const name = values(headers["impersonate-user"])[0] ?? "";
  const uid = values(headers["impersonate-uid"])[0] ?? "";
  const groups = values(headers["impersonate-group"]);
  const extras = new Map<string, string[]>();
  for (const header in headers) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = unescapeKey(header.slice(extraPrefix.length));
    extras.set(key, [...(extras.get(key) ?? []), ...values(headers[header])]);
  }
  const extra = lookupTable(Object.fromEntries(extras));
  if (name) return { name, uid, groups, extra };
  if (uid || groups.length > 0 || Object.keys(extra).length > 0)
    throw badRequest(
      `requested &user.DefaultInfo{Name:"", UID:${goQuote(uid)}, Groups:${shownGroups(groups)}, Extra:map[string][]string(nil)} without impersonating a user name`,
    );
  return undefined;
}

async function become(
  mode: Mode,
  wanted: Wanted,
  requester: UserInfo,
  authorizer: Authorizer,
  request: Attributes,
): Promise<UserInfo> {
  const check = async (attributes: Attributes): Promise<void> => {
    const { decision, reason } = await authorizer.authorize(attributes);
    if (decision !== "allow") throw denied(attributes, reason);
  };
  const constrained = mode.name !== undefined;
  const verb = constrained ? `impersonate:${mode.name}` : "impersonate";
  const group = constrained ? authenticationGroup : "";
  const about = (resource: string, name: string, over: Partial<Attributes> = {}): Attributes => ({
    user: requester,
    verb,
    resourceRequest: true,
    group,
    version: "v1",
    resource,
    subresource: "",
    namespace: "",
    name,
    path: "",
    ...over,
  });
  if (constrained)
    await check({ ...request, user: requester, verb: `impersonate-on:${mode.name}:${request.verb}` });

  const account = accountOf(wanted.name);
  const node = constrained ? nodeName(wanted.name) : undefined;
  let groups = [...wanted.groups];
  if (account) {
    if (groups.length === 0) groups = serviceAccountGroups(account.namespace);
    await check(about("serviceaccounts", account.name, { namespace: account.namespace }));
  } else if (node !== undefined) {
    groups = ["system:nodes"];
    await check(about("nodes", mode.name === "associated-node" ? "*" : node));
  } else await check(about("users", wanted.name));

  if (wanted.uid) await check(about("uids", wanted.uid, { group: authenticationGroup }));
  await checkGroups(wanted.groups);
  for (const [key, list] of Object.entries(wanted.extra))
    for (const value of list)
      await check(about("userextras", value, { group: authenticationGroup, subresource: key }));

  const everybody = wanted.name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  if (!groups.includes(everybody) && !groups.includes("system:unauthenticated")) groups.push(everybody);
  return {
    name: wanted.name,
    ...(wanted.uid && { uid: wanted.uid }),
    groups,
    ...(Object.keys(wanted.extra).length > 0 && { extra: wanted.extra }),
  };

  async function checkGroups(list: readonly string[]): Promise<void> {
    if (constrained && list.includes(""))
      throw denied(about("groups", ""), "impersonating the empty string group is not allowed");
    if (constrained && list.includes("system:masters"))
      throw denied(
        about("groups", "system:masters"),
        "impersonating the system:masters group is not allowed",
      );
    for (const name of list) await check(about("groups", name));
  }
}

function isBare({ uid, groups, extra }: Wanted): boolean {
  return uid === "" && groups.length === 0 && Object.keys(extra).length === 0;
}

function nodeName(user: string): string | undefined {
  const prefix = "system:node:";
  return user.startsWith(prefix) && user.length > prefix.length ? user.slice(prefix.length) : undefined;
}

const accountPattern = /^system:serviceaccount:([^:]+):([^:]+)$/;

function accountOf(user: string): { namespace: string; name: string } | undefined {
  const match = accountPattern.exec(user);
  return match ? { namespace: match[1] as string, name: match[2] as string } : undefined;
}

/** One value for each line that was sent; a comma is part of a value. */
function values(header: string | readonly string[] | undefined): string[] {
  if (header === undefined) return [];
  return typeof header === "string" ? [header] : [...header];
}

function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function shownGroups(groups: readonly string[]): string {
  return groups.length > 0 ? `[]string{${groups.map(goQuote).join(", ")}}` : "[]string(nil)";
}
