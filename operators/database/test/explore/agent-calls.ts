/** The operator's calls to simulated agents: over the simulated network, answered as the agents would. */
import { LineBroken, operatorName, type Simulation } from "@keelson/testing";
import type { BackupJob } from "../../src/agent/backups.ts";
import { type BackupRequest, expectPod } from "../../src/agent/handlers.ts";
import { Gone } from "../../src/agent/ports.ts";
import type { AgentCall, CallOptions } from "../../src/agent/wire.ts";
import type { SimPostgres } from "./application.ts";
import type { SimInstance } from "./instance.ts";

export function simulatedCalls(simulation: () => Simulation<SimPostgres>, namespace: string): AgentCall {
  return async <T>({ host, path, body, timeoutMs }: CallOptions): Promise<T> => {
    const { application, network, caller, clock } = bound(simulation());
    const { to, life } = caller(host);
    const line = { from: operatorName, to, life, method: path, write: body !== undefined, timeoutMs };
    const late = new Promise<never>((_, reject) => {
      clock.timer(timeoutMs, () => reject(new Error(`${to} does not answer`)));
    });
    const answer = network.call(line, async () =>
      handle(application, await application.reach(to, namespace), path, body),
    );
    try {
      return (await Promise.race([answer, late])) as T;
    } catch (error) {
      if (error instanceof LineBroken && error.code === "ECONNREFUSED") throw new Gone(error.message);
      throw error;
    }
  };
}

function bound(simulation: Simulation<SimPostgres>) {
  const { application, network, clock } = simulation;
  return { application, network, clock, caller: (host: string) => simulation.caller(host) };
}

async function handle(
  application: SimPostgres,
  instance: SimInstance,
  path: string,
  body: unknown,
): Promise<unknown> {
  const { name = "" } = (body ?? {}) as { readonly name?: string };
  switch (path) {
    case "/report":
      return instance.report();
    case "/objects":
      if (!instance.server.isPrimary)
        throw new Error("cannot execute CREATE ROLE in a read-only transaction");
      return [];
    case "/restart":
      return await instance.agent.restart();
    case "/backup":
      expectPod(instance.uid, body as BackupRequest);
      return begin(application, instance, name);
    case "/backup/look":
      expectPod(instance.uid, body as BackupRequest);
      return look(application, instance, name);
    case "/backup/remove":
      application.expectStore();
      application.store.delete(instance.keyInStore(name));
      return undefined;
    default:
      throw new Error(`there is nothing at ${path}`);
  }
}

/** How long a backup takes. */
const takesMs = 4_000;

function begin(application: SimPostgres, instance: SimInstance, name: string): BackupJob {
  application.expectStore();
  const key = instance.keyInStore(name);
  if (instance.backup !== undefined && instance.backup !== name)
    return { name, phase: "Waiting", message: `${instance.backup} is being taken` };
  instance.backup = name;
  const log = [...(instance.server.data?.log ?? [])];
  const timeline = instance.server.data?.timeline ?? 0;
  void instance.sleep(takesMs).then(() => {
    if (instance.backup !== name) return;
    instance.backup = undefined;
    if (!application.isStoreDown) application.store.set(key, { log, timeline });
  });
  return { name, phase: "Running", message: "the data is copied" };
}

function look(application: SimPostgres, instance: SimInstance, name: string): BackupJob | null {
  application.expectStore();
  const found = application.store.get(instance.keyInStore(name));
  if (!found)
    return instance.backup === name ? { name, phase: "Running", message: "the data is copied" } : null;
  const at = new Date(application.parts.clock.now()).toISOString();
  return {
    name,
    phase: "Done",
    message: "a server that was started from it answered",
    manifest: {
      ...{ name, uid: "", systemId: "7000000000000000001", timeline: found.timeline, version: "15.1" },
      ...{ startedAt: at, finishedAt: at, sizeBytes: found.log.length, proof: { at, databases: 3 } },
    },
  };
}
