/** What a hook's call is handed of the reconcile that makes it. */
import type { RawContext } from "@keelson/runtime/internal";
import type { CallScope } from "../call/hook-client.ts";

export function callScope(ctx: RawContext): CallScope {
  return {
    clock: ctx.clock,
    signal: ctx.signal,
    read: async (kind, ref) => await ctx.kind(kind).find(ref),
    connect: (service, port) => ctx.connect({ service }, port),
  };
}
