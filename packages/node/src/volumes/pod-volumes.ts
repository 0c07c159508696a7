/** The volumes of one pod: prepared before its first container, refreshed while it lives, taken down after it. */
import { existsSync } from "node:fs";
import { chmod, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, Quantity } from "@keelson/core";
import type { Container, PersistentVolume, Volume } from "@keelson/core/kinds";
import type { IdMode } from "@keelson/machine";
import type { NodeApi, StoredPod } from "../api/api.ts";
import type { DownwardContext } from "../environment/downward.ts";
import type { References } from "../environment/environment.ts";
import { expand } from "../environment/expansion.ts";
import { NodeError } from "../errors.ts";
import type { ContainerMount } from "../runtime/container-runtime.ts";
import { removeUnmounted } from "../runtime/mounts.ts";
import { openInside, placeOf } from "../runtime/safe-path.ts";
import { escapeOverlay, quote, runScript } from "../runtime/shell.ts";
import { writeAtomically } from "./atomic-directory.ts";
import { giveToGroup } from "./group-ownership.ts";
import { hostPath } from "./host-path.ts";
import { volumePayload } from "./payload.ts";
import { TokenCache } from "./token-cache.ts";

export interface PodVolumesOptions {
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly references: References;
  /** The pod's own directory on this machine. */
  readonly directory: string;
  /** The pod's own directory in memory, for what must not be kept: secrets, tokens and their like. */
  readonly memory: string;
  readonly ids: IdMode;
  /** False where mounting is impossible. */
  readonly canMount: boolean;
  readonly downward: (pod: StoredPod) => DownwardContext;
  /** The root file system of an image, for image volumes. */
  readonly imageRoot: (image: string) => Promise<string>;
}

/** Marks a PersistentVolume whose space is capped at its capacity: a tmpfs of that size stands in for the disk. */
export const cappedVolumeAnnotation = "node.keelson.dev/capped";

const growPatienceMs = 2_000;
const mounting = { code: "MountFailed", doing: "mount a pod's volume" } as const;

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #tokens: TokenCache;
  readonly #paths = new Map<string, string>();
  /** Volumes that no container may write to. */
  readonly #sealed = new Set<string>();
  /** Capacities of mounted capped volumes by name. */
  readonly #capped = new Map<string, string>();
  #changes = 0;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#tokens = new TokenCache(options.api, options.clock);
  }

  /** Makes every volume usable. May be called again after a failure: what is done stays done. */
  async prepare(pod: StoredPod): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) {
      if (this.#paths.has(volume.name)) continue;
      try {
        this.#paths.set(volume.name, await this.#prepareOne(volume, pod));
      } catch (error) {
        throw new NodeError(
          "MountFailed",
          `MountVolume.SetUp failed for volume ${JSON.stringify(volume.name)} : ${messageOf(error)}`,
          {
            cause: error,
          },
        );
      }
    }
  }

  /** Brings config maps, secrets, tokens and pod fields up to date, and volumes to the size that they have grown to. */
  async refresh(pod: StoredPod): Promise<void> {
    await this.#grow();
    for (const volume of pod.spec.volumes ?? []) {
      if (this.#paths.has(volume.name)) await this.#writeFiles(volume, pod);
    }
  }

  path(volume: string): string | undefined {
    return this.#paths.get(volume);
  }

  /** What a container mounts, with `subPath` resolved. */
  async mounts(container: Container, env: Readonly<Record<string, string>>): Promise<ContainerMount[]> {
    const mounts: ContainerMount[] = [];
    if (this.#capped.size > 0) await this.#growSoon();
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
      const base = this.#paths.get(mount.name);
      if (base === undefined)
        throw new NodeError("ContainerConfig", `volume ${JSON.stringify(mount.name)} is not mounted`);
      const readOnly = (mount.readOnly ?? false) || this.#sealed.has(mount.name);
      const sub = mount.subPathExpr ? expand(mount.subPathExpr, env) : mount.subPath;
      const source = sub ? await this.#subPath(base, sub, readOnly, `${container.name}-${index}`) : base;
      const target = mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`;
      mounts.push({ source, target: trimSlashes(target), readOnly });
    }
    return mounts;
  }

  /** A path inside a volume, made when absent and held in place: what containers do to its name does not matter then. */
  async #subPath(base: string, sub: string, readOnly: boolean, name: string): Promise<string> {
    if (sub.startsWith("/") || sub.split("/").includes("..")) {
      throw new NodeError(
        "ContainerConfig",
        `subPath ${JSON.stringify(sub)} must be relative and must not contain '..'`,
      );
    }
    const found = openInside(base, sub, readOnly ? {} : { make: "directory" });
    await using handle = await found.catch((error: unknown) => {
      throw new NodeError("ContainerConfig", `subPath ${messageOf(error)}`, { cause: error });
    });
    if (!this.#options.canMount) return join(base, sub);
    const place = join(this.#options.directory, "subpaths", name);
    await mkdir(dirname(place), { recursive: true });
    await removeUnmounted(place);
    if ((await stat(placeOf(handle))).isDirectory()) await mkdir(place);
    else await writeFile(place, "");
    await runScript([`mount --no-canonicalize --bind /proc/self/fd/3 ${quote(place)}`], mounting, [
      handle.fd,
    ]);
    return place;
  }

  /** Unmounts and removes everything but what outlives the pod (claims, host paths). */
  async teardown(): Promise<void> {
    this.#paths.clear();
    this.#capped.clear();
    for (const name of ["subpaths", "volumes"]) await removeUnmounted(join(this.#options.directory, name));
    await rm(this.#options.memory, { recursive: true, force: true });
  }

  async #prepareOne(volume: Volume, pod: StoredPod): Promise<string> {
    if (volume.emptyDir !== undefined) return await this.#emptyDirectory(volume, pod);
    if (volume.hostPath !== undefined)
      return await hostPath(volume.hostPath.path, volume.hostPath.type ?? "");
    if (volume.persistentVolumeClaim !== undefined) {
      return await this.#claim(volume.persistentVolumeClaim.claimName, pod);
    }
    if (volume.ephemeral !== undefined) return await this.#claim(`${pod.metadata.name}-${volume.name}`, pod);
    if (volume.image !== undefined) return await this.#image(volume);
    const path = await this.#writeFiles(volume, pod);
    // We write to it while the pod runs: nobody else may put anything in our way.
    if (path !== undefined) this.#sealed.add(volume.name);
    if (path !== undefined) return path;
    const kind = Object.keys(volume).find((key) => key !== "name") ?? "nothing";
    throw new NodeError("Unsupported", `volumes of type ${kind} are not supported by this node`);
  }

  async #writeFiles(volume: Volume, pod: StoredPod): Promise<string | undefined> {
    const { references, clock, ids } = this.#options;
    const fsGroup = pod.spec.securityContext?.fsGroup;
    const files = await volumePayload(volume, {
      namespace: pod.metadata.namespace ?? "",
      containers: [...pod.spec.containers, ...(pod.spec.initContainers ?? [])],
      downward: this.#options.downward(pod),
      references,
      token: (audience, seconds) => this.#tokens.get(pod, audience, seconds),
      fsGroup,
    });
    if (files === undefined) return undefined;
    const path = join(this.#options.memory, kindOf(volume), volume.name);
    const stamp = `${new Date(clock.now()).toISOString().replaceAll(/[-:T]/g, "_").slice(0, 19)}.${this.#changes++}`;
    const owned = ids !== "single" && fsGroup !== undefined ? { gid: fsGroup } : {};
    await writeAtomically(path, files, { stamp, ...owned });
    return path;
  }

  /** A layer without anything to write to above the image: not even one who may mount it again can change the image. */
  async #image(volume: Volume): Promise<string> {
    const root = await this.#options.imageRoot(volume.image?.reference ?? "");
    const [path, empty] = ["image", "image-empty"].map((kind) =>
      join(this.#options.directory, "volumes", kind, volume.name),
    ) as [string, string];
    for (const directory of [path, empty]) await mkdir(directory, { recursive: true });
    const options = `ro,nosuid,nodev,lowerdir=${escapeOverlay(empty)}:${escapeOverlay(root)},userxattr`;
    const layered = `mount -t overlay -o ${quote(options)} image ${quote(path)}`;
    const bound = `mount --bind ${quote(root)} ${quote(path)} && mount -o remount,bind,ro,nosuid,nodev ${quote(path)}`;
    await runScript([`${layered} 2>/dev/null || { ${bound}; }`], mounting);
    this.#sealed.add(volume.name);
    return path;
  }

  async #emptyDirectory(volume: Volume, pod: StoredPod): Promise<string> {
    const path = join(this.#options.directory, "volumes", "empty-dir", volume.name);
    const { medium, sizeLimit } = volume.emptyDir ?? {};
    const fresh = !existsSync(path);
    await mkdir(path, { recursive: true });
    if (medium === "Memory" && this.#options.canMount) {
      await this.#mountMemory(path, sizeLimit === undefined ? undefined : Quantity.from(sizeLimit));
    }
    if (fresh || medium === "Memory") {
      await chmod(path, 0o777);
      await this.#giveToGroup(path, pod);
    }
    return path;
  }

  async #claim(name: string, pod: StoredPod): Promise<string> {
    const { api } = this.#options;
    const claim = await api.claim(pod.metadata.namespace ?? "", name);
    if (claim === undefined)
      throw new NodeError("MountFailed", `persistentvolumeclaim ${JSON.stringify(name)} not found`);
    const volumeName = claim.spec?.volumeName;
    if (claim.status?.phase !== "Bound" || !volumeName) {
      throw new NodeError("MountFailed", `PVC ${pod.metadata.namespace}/${name} is not bound`);
    }
    const volume = await api.volume(volumeName);
    if (volume === undefined)
      throw new NodeError("MountFailed", `persistentvolume ${JSON.stringify(volumeName)} not found`);
    return await this.#persistent(volume, pod);
  }

  async #persistent(volume: PersistentVolume, pod: StoredPod): Promise<string> {
    const path = volume.spec?.hostPath?.path ?? volume.spec?.local?.path;
    const name = volume.metadata?.name ?? "";
    if (path === undefined) {
      throw new NodeError(
        "Unsupported",
        `volume ${name} is neither a local nor a hostPath volume: this node has no other kind`,
      );
    }
    const fresh = !existsSync(path);
    if (
      fresh &&
      volume.spec?.local !== undefined &&
      volume.metadata?.annotations?.[cappedVolumeAnnotation] === undefined
    ) {
      throw new NodeError("MountFailed", `path ${JSON.stringify(path)} does not exist`);
    }
    await mkdir(path, { recursive: true });
    if (volume.metadata?.annotations?.[cappedVolumeAnnotation] === "true" && this.#options.canMount) {
      const capacity = capacityOf(volume);
      await mountCapped(path, capacity);
      this.#capped.set(name, capacity);
    }
    if (fresh) await chmod(path, 0o777);
    await this.#giveToGroup(path, pod);
    return path;
  }

  /**
   * A container that ended because its disk was full is to find the space that it was given meanwhile. It starts without it
   * while the API server is away.
   */
  async #growSoon(): Promise<void> {
    const waited = new Promise<void>((resolve) => this.#options.clock.timer(growPatienceMs, resolve));
    await Promise.race([this.#grow().catch(() => {}), waited]);
  }

  async #grow(): Promise<void> {
    for (const [name, before] of this.#capped) {
      const volume = await this.#options.api.volume(name);
      const path = volume?.spec?.hostPath?.path ?? volume?.spec?.local?.path;
      const capacity = volume && capacityOf(volume);
      if (path === undefined || capacity === undefined || capacity === before) continue;
      await mountCapped(path, capacity);
      this.#capped.set(name, capacity);
    }
  }

  async #mountMemory(path: string, size: Quantity | undefined): Promise<void> {
    const limit = size === undefined || size.isZero() ? "" : `,size=${size.value()}`;
    await runScript([`mount -t tmpfs -o mode=777,nosuid,nodev${limit} tmpfs ${quote(path)}`], mounting);
  }

  /** `fsGroup`: the group owns the volume and what is made in it. Needs more than one group id. */
  async #giveToGroup(path: string, pod: StoredPod): Promise<void> {
    const group = pod.spec.securityContext?.fsGroup;
    if (group === undefined || this.#options.ids === "single") return;
    const policy = pod.spec.securityContext?.fsGroupChangePolicy ?? "Always";
    const { gid } = await stat(path);
    if (policy === "OnRootMismatch" && gid === group) return;
    await giveToGroup(path, group);
  }
}

function capacityOf(volume: PersistentVolume): string {
  return String(volume.spec?.capacity?.storage ?? "64Mi");
}

/** Several pods may share one capped volume; it is mounted once and stays, as a disk would. */
async function mountCapped(path: string, capacity: string): Promise<void> {
  const bytes = Quantity.from(capacity).value();
  await runScript(
    [
      `if mountpoint -q ${quote(path)}; then mount -o remount,size=${bytes} ${quote(path)};` +
        ` else mount -t tmpfs -o mode=777,nosuid,nodev,size=${bytes} capped ${quote(path)}; fi`,
    ],
    mounting,
  );
}

function trimSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}

function kindOf(volume: Volume): string {
  if (volume.configMap !== undefined) return "config-map";
  if (volume.secret !== undefined) return "secret";
  return volume.downwardAPI !== undefined ? "downward-api" : "projected";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
