/** The volumes of one pod: prepared before its first container, refreshed while it lives, taken down after it. */
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, realpath, rm, stat, writeFile } from "node:fs/promises";
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
import { quote, runScript } from "../runtime/shell.ts";
import { writeAtomically } from "./atomic-directory.ts";
import { volumePayload } from "./payload.ts";
import { TokenCache } from "./token-cache.ts";

export interface PodVolumesOptions {
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly references: References;
  /** The pod's own directory on this machine. */
  readonly directory: string;
  readonly ids: IdMode;
  /** False where mounting is impossible. */
  readonly canMount: boolean;
  readonly downward: (pod: StoredPod) => DownwardContext;
  /** The root file system of an image, for image volumes. */
  readonly imageRoot: (image: string) => Promise<string>;
}

/** Marks a PersistentVolume whose space is capped at its capacity: a tmpfs of that size stands in for the disk. */
export const cappedVolumeAnnotation = "node.keelson.dev/capped";

export class PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #tokens: TokenCache;
  readonly #paths = new Map<string, string>();
  readonly #mounted: string[] = [];
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
        const reason = error instanceof Error ? error.message : String(error);
        throw new NodeError(
          "MountFailed",
          `MountVolume.SetUp failed for volume ${JSON.stringify(volume.name)} : ${reason}`,
          {
            cause: error,
          },
        );
      }
    }
  }

  /** Brings config maps, secrets, tokens and pod fields up to date. */
  async refresh(pod: StoredPod): Promise<void> {
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
    for (const mount of container.volumeMounts ?? []) {
      const base = this.#paths.get(mount.name);
      if (base === undefined)
        throw new NodeError("ContainerConfig", `volume ${JSON.stringify(mount.name)} is not mounted`);
      const sub = mount.subPathExpr ? expand(mount.subPathExpr, env) : mount.subPath;
      const source = sub ? await subPath(base, sub) : base;
      const target = mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`;
      mounts.push({ source, target: target.replace(/(?<=.)\/+$/, ""), readOnly: mount.readOnly ?? false });
    }
    return mounts;
  }

  /** Unmounts and removes everything but what outlives the pod (claims, host paths). */
  async teardown(): Promise<void> {
    const mounted = this.#mounted.splice(0);
    this.#paths.clear();
    if (mounted.length > 0) {
      await runScript(
        mounted.map((path) => `umount -l ${quote(path)} 2>/dev/null || true`),
        { code: "MountFailed", doing: "unmount a pod's volumes" },
      );
    }
    await rm(join(this.#options.directory, "volumes"), { recursive: true, force: true });
  }

  async #prepareOne(volume: Volume, pod: StoredPod): Promise<string> {
    if (volume.emptyDir !== undefined) return await this.#emptyDirectory(volume, pod);
    if (volume.hostPath !== undefined)
      return await hostPath(volume.hostPath.path, volume.hostPath.type ?? "");
    if (volume.persistentVolumeClaim !== undefined) {
      return await this.#claim(volume.persistentVolumeClaim.claimName, pod);
    }
    if (volume.ephemeral !== undefined) return await this.#claim(`${pod.metadata.name}-${volume.name}`, pod);
    if (volume.image !== undefined) return await this.#options.imageRoot(volume.image.reference ?? "");
    const path = await this.#writeFiles(volume, pod);
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
    const path = join(this.#options.directory, "volumes", kindOf(volume), volume.name);
    const stamp = `${new Date(clock.now()).toISOString().replaceAll(/[-:T]/g, "_").slice(0, 19)}.${this.#changes++}`;
    const owned = ids !== "single" && fsGroup !== undefined ? { gid: fsGroup } : {};
    await writeAtomically(path, files, { stamp, ...owned });
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
      await mountCapped(path, volume.spec?.capacity?.storage ?? "64Mi");
    }
    if (fresh) await chmod(path, 0o777);
    await this.#giveToGroup(path, pod);
    return path;
  }

  async #mountMemory(path: string, size: Quantity | undefined): Promise<void> {
    const limit = size === undefined || size.isZero() ? "" : `,size=${size.value()}`;
    await runScript([`mount -t tmpfs -o mode=777${limit} tmpfs ${quote(path)}`], {
      code: "MountFailed",
      doing: "mount a memory volume",
    });
    this.#mounted.push(path);
  }

  /** `fsGroup`: the group owns the volume and what is made in it. Needs more than one group id. */
  async #giveToGroup(path: string, pod: StoredPod): Promise<void> {
    const group = pod.spec.securityContext?.fsGroup;
    if (group === undefined || this.#options.ids === "single") return;
    const policy = pod.spec.securityContext?.fsGroupChangePolicy ?? "Always";
    const { gid } = await stat(path);
    if (policy === "OnRootMismatch" && gid === group) return;
    await runScript(
      [
        `chgrp -R ${group} ${quote(path)}`,
        `chmod -R g+rwX ${quote(path)}`,
        `find ${quote(path)} -type d -exec chmod g+s {} +`,
      ],
      { code: "MountFailed", doing: `give a volume to group ${group}` },
    );
  }
}

/** Several pods may share one capped volume; it is mounted once and stays, as a disk would. */
async function mountCapped(path: string, capacity: string | number): Promise<void> {
  const bytes = Quantity.from(capacity).value();
  await runScript(
    [`mountpoint -q ${quote(path)} || mount -t tmpfs -o mode=777,size=${bytes} capped ${quote(path)}`],
    { code: "MountFailed", doing: "mount a capped volume" },
  );
}

async function hostPath(path: string, type: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  const wrong = (what: string) =>
    new NodeError("MountFailed", `hostPath type check failed: ${path} is not ${what}`);
  switch (type) {
    case "DirectoryOrCreate":
      if (found === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
      else if (!found.isDirectory()) throw wrong("a directory");
      return path;
    case "FileOrCreate":
      if (found === undefined) {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, "", { mode: 0o644 });
      } else if (!found.isFile()) throw wrong("a file");
      return path;
    case "Directory":
      if (!found?.isDirectory()) throw wrong("a directory");
      return path;
    case "File":
      if (!found?.isFile()) throw wrong("a file");
      return path;
    case "Socket":
      if (!found?.isSocket()) throw wrong("a socket file");
      return path;
    default:
      if (found === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
      return path;
  }
}

/** A path inside a volume, made when absent; links must not lead out of the volume. */
async function subPath(base: string, sub: string): Promise<string> {
  if (sub.startsWith("/") || sub.split("/").includes("..")) {
    throw new NodeError(
      "ContainerConfig",
      `subPath ${JSON.stringify(sub)} must be relative and must not contain '..'`,
    );
  }
  const path = join(base, sub);
  if (!existsSync(path)) {
    await mkdir(path, { recursive: true });
    const { mode, uid, gid } = await stat(base);
    await chmod(path, mode & 0o7777);
    const made = await lstat(path);
    if (made.uid !== uid || made.gid !== gid) await chown(path, uid, gid).catch(() => undefined);
  }
  const [root, real] = await Promise.all([realpath(base), realpath(path)]);
  if (real !== root && !real.startsWith(`${root}/`)) {
    throw new NodeError("ContainerConfig", `subPath ${JSON.stringify(sub)} leads out of its volume`);
  }
  return real;
}

function kindOf(volume: Volume): string {
  if (volume.configMap !== undefined) return "config-map";
  if (volume.secret !== undefined) return "secret";
  return volume.downwardAPI !== undefined ? "downward-api" : "projected";
}
