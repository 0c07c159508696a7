/** What a container runs, as the simulation sees it: programs are written by those who know the application. */
import type { ObjectOf } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";

/** A Pod as the server returns it. */
export type PodObject = ObjectOf<typeof Pod>;
export type ContainerSpec = NonNullable<PodObject["spec"]>["containers"][number];

/** What lies on a volume. An application keeps its data in `data`; it is gone when nobody put anything there. */
export interface SimulatedVolume {
  data?: unknown;
  /** Bytes are there, but not those that were written. */
  corrupt?: boolean;
  /** Nothing more can be written. */
  full?: boolean;
}

/** One start of one container. */
export interface ContainerStart {
  /** As it is at this start: environment and annotations are read each time. */
  readonly pod: PodObject;
  readonly container: ContainerSpec;
  readonly address: string;
  readonly node: string;
  /** The volume of a claim that the pod mounts, by the volume's name in the pod. */
  volume(name: string): SimulatedVolume | undefined;
  /** Resolved at this start. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The files of a mounted Secret or ConfigMap by the volume's name, as they are in the pod now, which may be older
   * than the object. Throws when the object is not there; the container then waits for it.
   */
  files(volume: string): Readonly<Record<string, string>>;
  /** Asks the kubelet to look again: readiness or life may have changed. */
  changed(): void;
}

/** How a container ended. */
export interface ContainerEnd {
  readonly exitCode: number;
  /** Its last words. */
  readonly message: string;
}

/** A program that runs in a container. */
export interface SimulatedProcess {
  /** What its readiness probe would be told now. */
  readonly ready: boolean;
  /** Why it ended; undefined while it runs. */
  readonly ended: ContainerEnd | undefined;
  /** What its liveness probe would be told; true where there is none. */
  readonly live?: boolean;
  /** SIGSTOP and SIGCONT: it hangs, and its connections with it. */
  freeze?(frozen: boolean): void;
  /** SIGTERM, and the time to follow it. */
  stop(): void;
  /** SIGKILL. */
  kill(): void;
}

/** An application as the simulation runs it. */
export interface Application {
  /** Starts a container's program, or says how it ended at once. */
  start(start: ContainerStart): SimulatedProcess | ContainerEnd;
  /** Everything it knows, to begin from again; without it scenarios are played from the very start. */
  save?(): unknown;
  /** Returns to what `save` gave; processes are asked for by the uid of their pod. */
  restore?(state: unknown, volumes: ReadonlyMap<string, SimulatedVolume>): void;
  /** The process of a pod that ran when the state was saved. */
  resume?(podUid: string, start: ContainerStart): SimulatedProcess | undefined;
}
