/** Reads the world into one plain object: the Lease, the pods, the claims, and what every agent says. */
import { type Connection, Quantity } from "keelson";
import { Lease } from "keelson/kinds";
import type { InstanceReport } from "../agent/handlers.ts";
import { type AgentCall, agentPort } from "../agent/wire.ts";
import type { DatabaseObject } from "../api/database.ts";
import { readLease } from "../ha/lease-object.ts";
import type { LeaseRecord } from "../ha/state.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { leaseRef } from "../resources/lease.ts";
import { databaseName, instanceKey } from "../resources/names.ts";
import type { InstanceView, Observed } from "./observed.ts";
import { podView } from "./pod-view.ts";

/** Silence is an answer, and costs no more than this. */
const patienceMs = 5_000;

/** How the agents of a Database are spoken to. */
export interface AgentAccess {
  /** What they know their own by. */
  readonly key: Buffer;
  readonly call: AgentCall;
}

/** Speaks to one instance's agent. */
export async function askAgent<T>(
  ctx: DatabaseContext,
  instance: { readonly namespace: string; readonly name: string },
  question: {
    readonly path: string;
    readonly body?: unknown;
    readonly timeoutMs?: number;
  },
  { key, call }: AgentAccess,
): Promise<T> {
  const { path, body, timeoutMs = patienceMs } = question;
  await using link: Connection = await ctx.connect({ pod: instance }, agentPort);
  return await call<T>({ host: link.host, port: link.port, path, body, key, timeoutMs });
}

export async function readRecord(
  object: DatabaseObject,
  ctx: DatabaseContext,
): Promise<LeaseRecord | undefined> {
  const lease = await ctx.client.kind(Lease).find(leaseRef(object));
  if (!lease) return undefined;
  try {
    return readLease(lease).record;
  } catch {
    return undefined;
  }
}

export async function observe(
  object: DatabaseObject,
  ctx: DatabaseContext,
  options: {
    readonly names: readonly string[];
    readonly record: LeaseRecord | undefined;
    readonly access: AgentAccess | undefined;
  },
): Promise<Observed> {
  const database = databaseName(object);
  const instances = await Promise.all(
    options.names.map(async (name): Promise<InstanceView> => {
      const slot = instanceKey(database, name);
      const pod = ctx.own.pods.get(slot);
      const claim = ctx.own.claims.get(slot);
      const view = pod && podView(pod);
      const report =
        options.access && pod?.status?.podIP !== undefined
          ? await askAgent<InstanceReport>(
              ctx,
              { namespace: database.namespace, name },
              { path: "/report" },
              options.access,
            ).catch(() => undefined)
          : undefined;
      return {
        name,
        ...(view && { pod: view }),
        ...(claim && {
          claim: {
            uid: claim.metadata.uid,
            deleting: claim.metadata.deletionTimestamp !== undefined,
            ...(claim.spec?.volumeName && { volume: claim.spec.volumeName }),
            ...(claim.status?.capacity?.["storage"] !== undefined && {
              bytes: Quantity.from(claim.status.capacity["storage"]).toNumber(),
            }),
          },
        }),
        ...(report && { report }),
      };
    }),
  );
  return { object, record: options.record, instances };
}
