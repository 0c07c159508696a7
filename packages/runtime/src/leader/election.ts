/** Chooses how the lease is held: in a thread of its own where that is possible, in this one otherwise. */
import type { Client, ConnectOptions } from "@keelson/client";
import type { World } from "@keelson/core";
import type { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { type Fence, SharedFence } from "./fence.ts";
import { LeaseElector, type LeaseProblem, type LeaseTimings, leaseTimings } from "./lease.ts";
import { LeaseThread } from "./lease-thread.ts";

/** The lease for which managers compete, and its timings. */
export interface LeaderElectionOptions extends Partial<LeaseTimings> {
  /** The Lease's name. Default: the operator's. */
  readonly name?: string;
  /** Default: the namespace that the client calls its own. */
  readonly namespace?: string;
  /** Unique among all processes. Default: the host's name and something random. */
  readonly identity?: string;
  /** A working thread that has not moved for this long loses the lease. Default: 60 s. */
  readonly hangMs?: number;
}

/** How to connect to the cluster, in a form that another thread can be told. */
export type ConnectSettings = Pick<ConnectOptions, "kubeconfig" | "context" | "impersonate">;

/** A running election, wherever it runs. */
export interface Election {
  readonly fence: Fence;
  readonly timings: LeaseTimings;
  readonly leading: boolean;
  /** Why this process could not lead if nobody did. */
  readonly problem: LeaseProblem | undefined;
  readonly acquired: Promise<void>;
  readonly lost: Promise<RuntimeError>;
  run(): void;
  /** Gives the lease back, unless it is to be kept until it runs out. */
  stop(options?: { readonly keep?: boolean }): Promise<void>;
}

export interface ElectionServices {
  /** Not fenced. */
  readonly client: Client;
  /** How another thread can connect to the same cluster; without it the lease is held in this thread. */
  readonly connect?: ConnectSettings;
  readonly world: World;
  readonly name: string;
  readonly log: Logger;
}

export function elect(options: LeaderElectionOptions, services: ElectionServices): Election {
  const { client, world, log } = services;
  const timings = leaseTimings(pick(options));
  const name = options.name ?? services.name;
  const namespace = options.namespace ?? client.namespace;
  const identity = options.identity ?? `${world.process.hostname}_${world.random.uuid()}`;
  if (services.connect) {
    const { connect } = services;
    const hangMs = options.hangMs ?? 60_000;
    const thread = new LeaseThread({ connect, name, namespace, identity, timings, hangMs }, log);
    return Object.assign(thread, { timings });
  }
  const fence = new SharedFence(world.clock);
  const elector = new LeaseElector({
    client,
    clock: world.clock,
    random: world.random.fork("lease"),
    name,
    namespace,
    identity,
    timings,
    fence,
    log,
  });
  return Object.assign(elector, { fence, timings });
}

function pick(options: LeaderElectionOptions): Partial<LeaseTimings> {
  const keys = ["leaseMs", "renewDeadlineMs", "renewEveryMs", "writeTimeoutMs"] as const;
  return Object.fromEntries(keys.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])));
}
