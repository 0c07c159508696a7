/** The controller of drills: gathers, decides, and does the fault by what every cluster offers. */
import type { Client } from "@keelson/client";
import { type AnyKind, type ObjectOf, parseJson, Quantity } from "@keelson/core";
import { type Container, NetworkPolicy, PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import {
  all,
  allow,
  allowSubresource,
  type Context,
  type Controller,
  controller,
  done,
  fail,
  many,
  type Outcome,
  waiting,
} from "@keelson/runtime";
import { decideSchedule } from "../backup/schedule.ts";
import { ownStatus } from "../own-status.ts";
import { restrictedContainer, restrictedPodWithoutVolumes } from "../pod-security.ts";
import { type ClientReport, type DrillDecision, decideDrill, type ObservedDrill } from "./decide-drill.ts";
import type { DrillKind, DrillObject, DrillRun } from "./drill.ts";
import { isInside, strikeContainer, strikeReport } from "./strike.ts";
import { selectorOf, type Target } from "./target.ts";

type PodObject = ObjectOf<typeof Pod>;

/** What runs beside a drill, see `spec.client`. */
export type DrillClient = Pick<Container, "image" | "command" | "args" | "env" | "envFrom">;

/** What an operator gives to its drills. */
export interface DrillOptions {
  /** The kinds that drills may be about. */
  readonly targets: readonly AnyKind[];
  /** An image with `node` in it, for faults from inside a pod; undefined when it is not known. */
  readonly image: () => string | undefined;
  /** The client of a target, for drills that name none. */
  readonly client?: (target: {
    readonly namespace: string;
    readonly name: string;
  }) => DrillClient | undefined;
}

const clientPort = 8080;
const reportMs = 10_000;
/** On pods, while a drill cuts them off: the drill's NetworkPolicy selects them by it. */
const victimLabel = "keelson.dev/drill";

const owns = {
  clients: many(Pod, { absent: "keep" }),
  policies: many(NetworkPolicy, { absent: "keep" }),
};
const writesOf = (targets: readonly AnyKind[]) =>
  [
    allow(Pod, ["get", "list", "patch", "delete"]),
    allowSubresource(Pod, "ephemeralcontainers", ["patch"]),
    allow(PersistentVolumeClaim, ["get"]),
    ...targets.map((kind) => allow(kind, ["get"])),
  ] as const;

/**
 * Runs drills. What is done to pods is done by deleting them, by an ephemeral container, or by a NetworkPolicy, so it
 * works on every Kubernetes. A run is recorded before anything is done: whenever the operator dies, the next one goes
 * on with it and does no fault twice.
 *
 * @example
 * operator({ controllers: [sampleDB(), drillController(Drill, { targets: [SampleDB], image: operatorImage })] });
 */
export function drillController(kind: DrillKind, options: DrillOptions): Controller {
  const reads = { drills: all(kind) };
  const writes = writesOf(options.targets);
  type DrillContext = Context<DrillKind, typeof owns, typeof reads, typeof writes>;

  async function gather(drill: DrillObject, ctx: DrillContext): Promise<ObservedDrill> {
    const { namespace = "default" } = drill.metadata;
    const { spec, status } = drill;
    const target = await findTarget(drill, ctx);
    const selector = target && selectorOf(target);
    const pods =
      selector === undefined ? [] : (await ctx.client.kind(Pod).list({ namespace, labels: selector })).items;
    const { run } = status ?? {};
    const strikes = new Map(
      pods.flatMap((pod) => {
        const report = run && strikeReport(pod, run);
        return report ? [[pod.metadata.uid, report] as const] : [];
      }),
    );
    return {
      drill,
      target,
      pods,
      schedule:
        spec.schedule === undefined
          ? undefined
          : decideSchedule(
              {
                schedule: spec.schedule,
                timeZone: spec.timeZone,
                suspend: spec.suspend,
                createdAt: drill.metadata.creationTimestamp,
                lastScheduled: status?.lastScheduled,
                running: run !== undefined,
              },
              ctx.cron.bind(ctx),
            ),
      other: ctx.read.drills.find(
        (other) =>
          other.metadata.uid !== drill.metadata.uid &&
          other.metadata.namespace === namespace &&
          other.spec.target.name === spec.target.name &&
          other.status?.run !== undefined,
      )?.metadata.name,
      strikes,
      client: await askClient(drill, ctx),
      nowMs: ctx.clock.now(),
      choose: (able, count) => chosen(able, count, ctx),
    };
  }

  async function findTarget(drill: DrillObject, ctx: DrillContext): Promise<Target | undefined> {
    const { target } = drill.spec;
    const found = options.targets.find((each) => each.kind === target.kind);
    if (!found) return undefined;
    const { namespace = "default" } = drill.metadata;
    // Which kinds there are is known at run time only; each was declared.
    const client = ctx.client as unknown as Client;
    return (await client.kind(found).find({ namespace, name: target.name })) as Target | undefined;
  }

  function clientOf(drill: DrillObject): DrillClient | undefined {
    const { namespace = "default" } = drill.metadata;
    if (drill.spec.client) return drill.spec.client as DrillClient;
    return options.client?.({ namespace, name: drill.spec.target.name });
  }

  /** What the client says, while a run is under way. */
  async function askClient(drill: DrillObject, ctx: DrillContext): Promise<ObservedDrill["client"]> {
    const { run } = drill.status ?? {};
    const wanted = clientOf(drill) !== undefined;
    const pod = run && ctx.own.clients.get(run.id);
    if (!pod) return { wanted };
    if (!pod.status?.podIP) return { wanted, problem: "its pod has no address yet" };
    try {
      const { namespace = "default", name } = pod.metadata;
      await using way = await ctx.connect({ pod: { namespace, name } }, clientPort);
      const answer = await fetch(`http://${way.host}:${way.port}/report`, {
        signal: AbortSignal.any([ctx.signal, AbortSignal.timeout(reportMs)]),
      });
      if (!answer.ok) return { wanted, problem: `it answers ${answer.status}` };
      return { wanted, report: parseJson(await answer.text()) as unknown as ClientReport };
    } catch (error) {
      ctx.signal.throwIfAborted();
      return { wanted, problem: (error as Error).message };
    }
  }

  async function strike(drill: DrillObject, ctx: DrillContext, pods: readonly PodObject[]): Promise<void> {
    const { run } = drill.status ?? {};
    const { namespace = "default" } = drill.metadata;
    if (!run) return;
    const { fault } = drill.spec;
    if (fault === "CutOff") await ctx.own.policies.apply(run.id, silence(drill, run));
    for (const { uid, name } of run.victims) {
      const pod = pods.find(({ metadata }) => metadata.uid === uid);
      if (!pod) continue;
      if (fault === "DeletePod") await ctx.client.kind(Pod).delete({ namespace, name }, { uid });
      else if (fault === "CutOff") await label(ctx, pod, run.id);
      else if (isInside(fault)) await enter(drill, ctx, pod, run);
    }
  }

  /** Adds the container that does the fault; one that is there already does it. */
  async function enter(drill: DrillObject, ctx: DrillContext, pod: PodObject, run: DrillRun): Promise<void> {
    const { namespace = "default", name } = pod.metadata;
    const image = options.image();
    if (image === undefined || strikeReport(pod, run)) return;
    const container = strikeContainer(pod, {
      run,
      spec: drill.spec,
      image,
      limitBytes: await sizeOf(drill, ctx, pod),
    });
    await ctx.client
      .subresource(Pod, "ephemeralcontainers")
      .patch(
        { namespace, name },
        { type: "strategic", body: { spec: { ephemeralContainers: [container] } } as never },
      );
  }

  async function sizeOf(drill: DrillObject, ctx: DrillContext, pod: PodObject): Promise<number> {
    if (drill.spec.fault !== "FillDisk") return 0;
    const { namespace = "default" } = pod.metadata;
    const volume = pod.spec?.volumes?.find(({ name }) => name === drill.spec.volume);
    const claim = volume?.persistentVolumeClaim?.claimName;
    if (claim === undefined) return Number(Quantity.from(volume?.emptyDir?.sizeLimit ?? "1Gi").toNumber());
    const { status } = await ctx.client.kind(PersistentVolumeClaim).get({ namespace, name: claim });
    return Quantity.from(String(status?.capacity?.["storage"] ?? "0")).toNumber();
  }

  async function label(ctx: DrillContext, pod: PodObject, id: string | null): Promise<void> {
    const { namespace = "default", name, uid } = pod.metadata;
    const body = { metadata: { uid, labels: { [victimLabel]: id } } };
    await ctx.client.kind(Pod).patch({ namespace, name }, { type: "merge", body: body as never });
  }

  async function act(
    drill: DrillObject,
    ctx: DrillContext,
    decision: DrillDecision,
    pods: readonly PodObject[],
  ): Promise<void> {
    const { run } = decision.status;
    // Not as soon as a run ends: who dies before that is recorded must find the client again, to end it once more.
    if (decision.do === "rest" || decision.do === "prepare") await cleanUp(ctx, pods, run);
    if (decision.do === "prepare" && run) {
      const client = clientOf(drill);
      if (client) await ctx.own.clients.apply(run.id, clientPod(drill, run, client));
    }
    if (decision.do === "strike") await strike(drill, ctx, pods);
    if (decision.do === "watch" && run && drill.spec.fault === "CutOff") await endSilence(drill, ctx, run);
  }

  /** The cut ends when its time is over, however the target is by then. */
  async function endSilence(drill: DrillObject, ctx: DrillContext, run: DrillRun): Promise<void> {
    if (run.struckAt === undefined) return;
    const endMs = Date.parse(run.struckAt) + drill.spec.durationSeconds * 1_000;
    if (ctx.clock.now() >= endMs) await ctx.own.policies.delete(run.id);
  }

  /** What earlier runs left; what belongs to the one that is under way stays. */
  async function cleanUp(ctx: DrillContext, pods: readonly PodObject[], run?: DrillRun): Promise<void> {
    for (const slot of [ctx.own.clients, ctx.own.policies])
      for (const key of slot.entries().keys()) if (key !== run?.id) await slot.delete(key);
    for (const pod of pods) {
      const of = pod.metadata.labels?.[victimLabel];
      if (of !== undefined && of !== run?.id) await label(ctx, pod, null);
    }
  }

  return controller(kind, {
    owns,
    reads,
    writes,
    async reconcile(drill, ctx): Promise<Outcome> {
      const { spec } = drill;
      if (!options.targets.some((each) => each.kind === spec.target.kind)) {
        const names = options.targets.map((each) => each.kind).join(", ");
        return fail(
          "TargetUnknown",
          `${spec.target.kind} is not among the kinds that this operator drills: ${names}`,
        );
      }
      if (isInside(spec.fault) && options.image() === undefined)
        return fail(
          "ImageUnknown",
          "the operator does not know an image to do the fault with; set OPERATOR_IMAGE",
        );
      const observed = await gather({ ...drill, status: ownStatus(drill) as never }, ctx);
      const decision = decideDrill(observed);
      await act(drill, ctx, decision, observed.pods);
      ctx.setStatus(decision.status as never);
      if (decision.event) ctx.event(decision.event.type, decision.event.reason, decision.event.message);
      const { phase } = decision.status;
      if (phase === "Stopped") return fail(decision.reason, decision.message);
      if (phase === "Done") return done({ message: decision.message });
      if (phase === "Suspended") return waiting(decision.reason, decision.message);
      return waiting(decision.reason, decision.message, { recheckMs: decision.recheckMs });
    },
  });
}

function chosen(
  pods: readonly PodObject[],
  count: number,
  ctx: { random: { bytes(n: number): Uint8Array } },
): PodObject[] {
  const left = [...pods].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const at = Buffer.from(ctx.random.bytes(4)).readUInt32BE() % left.length;
    return left.splice(at, 1)[0] as PodObject;
  });
}

/** Denies everything, both ways, to the pods that carry the label of the run. */
function silence(drill: DrillObject, run: DrillRun) {
  return {
    metadata: { name: `${drill.metadata.name}-${run.id}` },
    spec: {
      podSelector: { matchLabels: { [victimLabel]: run.id } },
      policyTypes: ["Ingress" as const, "Egress" as const],
    },
  };
}

function clientPod(drill: DrillObject, run: DrillRun, client: DrillClient) {
  return {
    metadata: { name: `${drill.metadata.name}-client-${run.id}` },
    spec: {
      restartPolicy: "Always" as const,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      securityContext: restrictedPodWithoutVolumes(65_532),
      containers: [
        {
          name: "client",
          ...client,
          ports: [{ name: "report", containerPort: clientPort }],
          securityContext: restrictedContainer,
        },
      ],
    },
  };
}
