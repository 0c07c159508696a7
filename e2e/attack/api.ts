/** All attacks on an API server. */

import { type ApiTarget, ours, real } from "./api-target.ts";
import { type Result, tryAll } from "./attack.ts";
import { authorizationAttacks, prepareRoles, roles, statusFor } from "./authorization.ts";
import { greedyAttacks } from "./greedy.ts";
import { hostileAttacks, nameAttacks } from "./hostile.ts";
import { proxyAttacks } from "./proxies.ts";
import { tokenAttacks } from "./tokens.ts";

export interface ApiOptions {
  /** Compare authorization with kube-apiserver, where it is built. */
  readonly compare: boolean;
  /** Only attacks whose group is named; default: all. */
  readonly groups?: readonly string[];
  /** Leave out the attacks on the server's time and memory. */
  readonly short?: boolean;
  readonly tell: (result: Result) => void;
}

export async function attackApi({ compare, groups, short = false, tell }: ApiOptions): Promise<void> {
  const wants = (group: string) => groups === undefined || groups.includes(group);
  const expected = compare && wants("authorization") ? await realStatuses() : new Map<string, number>();
  await using server = await ours();
  const { target } = server;
  await prepareRoles(target);
  if (wants("authorization")) await tryAll("authorization", target, authorizationAttacks(expected), tell);
  if (wants("tokens")) await tryAll("tokens", target, tokenAttacks, tell);
  if (wants("names")) await tryAll("names", target, nameAttacks, tell);
  if (wants("proxies")) await tryAll("proxies", target, short ? proxyAttacks.slice(-2) : proxyAttacks, tell);
  if (short) return;
  if (wants("greedy clients")) await tryAll("greedy clients", target, greedyAttacks, tell);
  if (wants("hostile requests")) await tryAll("hostile requests", target, hostileAttacks, tell);
}

/** What kube-apiserver answers, by the attack's id; empty where it is not built. */
async function realStatuses(): Promise<ReadonlyMap<string, number>> {
  const statuses = new Map<string, number>();
  await using server = await real();
  if (!server) return statuses;
  await prepareRoles(server.target);
  for (const [name, role] of Object.entries(roles))
    for (const [index, request] of role.requests.entries())
      statuses.set(`${name}, ${index + 1}`, await settledStatus(server.target, role, request));
  return statuses;
}

/** Its parts learn of roles and pods a moment later: an answer counts when it comes twice. */
async function settledStatus(
  target: ApiTarget,
  ...rest: Parameters<typeof statusFor> extends [unknown, ...infer R] ? R : never
): Promise<number> {
  let last = await statusFor(target, ...rest);
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = await statusFor(target, ...rest);
    if (now === last) return now;
    last = now;
  }
  return last;
}
