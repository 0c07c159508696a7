/** The control planes a suite about controllers runs on: the embedded one and, where it is built, the real one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "@keelson/apiserver";
import { type Client, connect, createClient, systemWorld } from "@keelson/client";
import {
  type AnyKind,
  type Clock,
  type ObjectOf,
  type ObjectRef,
  objectKey,
  systemClock,
} from "@keelson/core";
import { Event } from "@keelson/core/kinds";
import { locateKubernetes } from "@keelson/reference/locate";
import { silentLogger } from "@keelson/runtime";
import { describe, it } from "vitest";
import { startControllers } from "../src/index.ts";

export interface ControlPlaneSettings {
  /** How long nodes may be silent. Default: what each control plane thinks right. */
  readonly nodeGraceSeconds?: number;
}

export type StartControlPlane = (settings?: ControlPlaneSettings) => Promise<ControlPlane>;

export interface ControlPlane extends AsyncDisposable {
  readonly client: Client;
  /** Where the embedded control plane makes volumes; undefined on the real one, which makes none. */
  readonly volumes?: string;
}

/** Runs the suite on every control plane that this machine has. It starts none before the suite asks. */
export function onEveryControlPlane(
  subject: string,
  suite: (start: StartControlPlane, plane: "embedded" | "real") => void,
): void {
  describe(`${subject} on the embedded control plane`, () =>
    suite((settings) => embedded(systemClock, settings), "embedded"));
  const found = locateKubernetes();
  const missing = "missing" in found ? found.missing : undefined;
  const hasControllers = !("missing" in found) && found.controllerManager !== undefined;
  describe(`${subject} on the real control plane`, () => {
    if (hasControllers) suite(real, "real");
    else it.skip(`is not there: ${missing ?? "it has no kube-controller-manager"}`, () => {});
  });
}

/** The embedded control plane alone. `clock` is what its controllers go by. Default: the clock of the system. */
export async function embedded(
  clock: Clock = systemClock,
  { nodeGraceSeconds }: ControlPlaneSettings = {},
): Promise<ControlPlane> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "keelson-controllers-"));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const volumes = join(directory, "volumes");
  const server = stack.use(await startApiServer({ port: 0, kubeconfig: join(directory, "kubeconfig") }));
  const client = createClient({ http: server.api.http });
  const { authority } = server;
  const world = { ...systemWorld, clock };
  stack.use(
    await startControllers({
      client,
      authority,
      volumesDirectory: volumes,
      world,
      log: silentLogger,
      ...(nodeGraceSeconds === undefined ? {} : { nodeHealth: { graceMs: nodeGraceSeconds * 1000 } }),
    }),
  );
  const moved = stack.move();
  return { client, volumes, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

async function real({ nodeGraceSeconds }: ControlPlaneSettings = {}): Promise<ControlPlane> {
  const { startControlPlane } = await import("@keelson/reference/control-plane");
  const plane = await startControlPlane({
    controllers: true,
    scheduler: true,
    ...(nodeGraceSeconds === undefined
      ? {}
      : {
          flags: {
            "kube-controller-manager": [
              `--node-monitor-grace-period=${nodeGraceSeconds}s`,
              "--node-monitor-period=1s",
            ],
          },
        }),
  });
  const client = await connect({ kubeconfig: plane.kubeconfig });
  return {
    client,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await plane[Symbol.asyncDispose]();
    },
  };
}

/** Follows one object until it is as expected; absence is `undefined`. Throws what was last seen after 20 s. */
export async function until<K extends AnyKind>(
  client: Client,
  kind: K,
  ref: ObjectRef,
  accept: (object: ObjectOf<K> | undefined) => boolean,
): Promise<ObjectOf<K>> {
  const signal = AbortSignal.timeout(20_000);
  const { namespace, name } = ref;
  let last: ObjectOf<K> | undefined;
  try {
    for (;;) {
      last = await client.kind(kind).find(ref, { signal });
      if (accept(last)) return last as ObjectOf<K>;
      const from = last ? { resourceVersion: last.metadata.resourceVersion } : {};
      const where = { ...(namespace === undefined ? {} : { namespace }), fields: `metadata.name=${name}` };
      for await (const event of client.kind(kind).watch({ ...where, ...from, signal })) {
        if (event.type === "error") break;
        if (event.type === "bookmark") continue;
        last = event.type === "deleted" ? undefined : event.object;
        if (accept(last)) return last as ObjectOf<K>;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const what = `${kind.kind} ${objectKey({ metadata: ref })}`;
    throw new Error(`${what} never became as expected; it is ${JSON.stringify(last, null, 1)}`, {
      cause: error,
    });
  }
}

/** Follows events until one with this reason concerns the object; resolves with its message. */
export async function untilEvent(
  client: Client,
  regarding: { readonly metadata: { readonly uid: string; readonly namespace?: string } },
  reason: string,
): Promise<string> {
  const namespace = regarding.metadata.namespace ?? "default";
  const signal = AbortSignal.timeout(20_000);
  const watch = client.kind(Event).watch({ namespace, initialEvents: true, bookmarks: true, signal });
  for await (const event of watch) {
    if (event.type === "bookmark" || event.type === "error") continue;
    const { object } = event;
    const target = "regarding" in object ? object.regarding : object.involvedObject;
    if ((target as { uid?: string }).uid !== regarding.metadata.uid || object.reason !== reason) continue;
    return String(("note" in object ? object.note : object.message) ?? "");
  }
  throw new Error(`no event ${reason}`);
}
