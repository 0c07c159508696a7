/** Events from outside: from a request to the objects that are looked at again. */
import { keyOf } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { WakeRequest } from "../controller/controller.ts";
import { type AnyController, isRaw } from "../controller/permissions.ts";
import type { Loop } from "../reconcile/loop.ts";

export interface WakeSources {
  readonly controllers: readonly AnyController[];
  readonly loops: readonly Loop[];
  readonly leading: () => boolean;
}

/** 202 when objects are looked at, 403 when the author's function refuses, 503 where another process leads. */
export async function wake(
  path: string,
  request: WakeRequest,
  sources: WakeSources | undefined,
): Promise<{ status: number; body: string }> {
  const [, , name = "", event = ""] = path.split("/");
  const controller = sources?.controllers.find((each) => each.name === name);
  if (!sources) return { status: 503, body: "the operator is starting" };
  const find = controller && !isRaw(controller) ? controller.wakes[event] : undefined;
  if (!find) return { status: 404, body: `there is no event ${event} of a controller ${name}` };
  if (!sources.leading()) return { status: 503, body: "another process leads; send it again" };
  let refs: Awaited<ReturnType<typeof find>>;
  try {
    refs = await find(request);
  } catch (error) {
    return { status: 400, body: errorText(error) };
  }
  if (!refs) return { status: 403, body: "refused" };
  for (const ref of refs) {
    const key = keyOf(ref);
    for (const loop of sources.loops) {
      if (loop.name === name && loop.has(key)) loop.wake(key, { type: "wake", kind: event, key });
    }
  }
  return { status: 202, body: "accepted" };
}
