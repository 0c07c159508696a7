/** Turns a container of a pod into a running one: image, environment, user, mounts, command. */
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Quantity } from "@keelson/core";
import type { Container } from "@keelson/core/kinds";
import type { ResolvedImage } from "@keelson/images";
import type { StoredPod } from "../api/api.ts";
import { containerEnvironment } from "../environment/environment.ts";
import { expand } from "../environment/expansion.ts";
import { NodeError } from "../errors.ts";
import type {
  ContainerHandle,
  ContainerLimits,
  ContainerMount,
  ContainerUser,
  PodSandbox,
} from "../runtime/container-runtime.ts";
import type { PodVolumes } from "../volumes/pod-volumes.ts";
import { ContainerLog } from "./container-log.ts";
import { containerSecurity } from "./container-security.ts";
import { containerUser, readAccounts } from "./container-user.ts";
import { executableProblem } from "./executable.ts";
import { podHostname } from "./pod-files.ts";
import { downwardContext, type KubeletServices } from "./services.ts";

export interface StartInput {
  readonly services: KubeletServices;
  readonly pod: StoredPod;
  readonly sandbox: PodSandbox;
  readonly volumes: PodVolumes;
  readonly container: Container;
  /** It is meant to end by itself. */
  readonly oneShot: boolean;
  readonly image: ResolvedImage;
  /** Counted from 0; names the log file. */
  readonly attempt: number;
  readonly id: string;
  /** The pod's directory on this machine. */
  readonly directory: string;
  /** A process whose view of processes it shares. */
  readonly joins?: number;
  readonly onOutput?: (stream: "stdout" | "stderr", chunk: Buffer) => void;
}

export interface StartedContainer {
  readonly handle: ContainerHandle;
  readonly log: ContainerLog;
  readonly user: ContainerUser;
  readonly terminationMessage: string;
}

/** Throws `ContainerConfig` for what the spec asks and we cannot give, `ContainerCannotRun` for a failed start. */
export async function startPodContainer(input: StartInput): Promise<StartedContainer> {
  const { services, pod, sandbox, container, image } = input;
  const config = image.config;
  const simulated = services.runtime.kind === "simulated";
  const hostname = podHostname(pod, services.node.dns.domain).hostname;
  const accounts = simulated ? { users: [], groups: [] } : await readAccounts(image.rootfs);
  const account = containerUser({ pod, container, imageUser: simulated ? "" : config.user, accounts });
  const declared = await containerEnvironment({
    pod,
    container,
    containers: [...pod.spec.containers, ...(pod.spec.initContainers ?? [])],
    services: services.serviceEnvironment(pod.metadata.namespace ?? "", pod.spec.enableServiceLinks ?? true),
    downward: downwardContext(services, pod, sandbox.address),
    references: services.references.for(pod.metadata.uid),
  });
  const env: Record<string, string> = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOSTNAME: hostname,
    HOME: account.home,
    ...(container.tty ? { TERM: "xterm" } : {}),
    ...Object.fromEntries(config.env.map(splitVariable)),
    ...declared,
  };
  const security = await containerSecurity(pod, container, services.seccompDirectory);
  const command = commandOf(container, image, declared);
  if (command.length === 0) {
    throw new NodeError(
      "ContainerConfig",
      `no command specified: neither the image ${image.reference} nor the container has one`,
    );
  }
  const cwd = container.workingDir || config.workingDir || "/";
  const message = join(input.directory, "containers", container.name, `${input.attempt}.message`);
  const mounts = simulated ? [] : await allMounts(input, declared, message);
  const view = { rootfs: image.rootfs, mounts };
  const problem = simulated
    ? undefined
    : await executableProblem(view, command[0] ?? "", cwd, env.PATH ?? "");
  if (problem !== undefined)
    throw new NodeError("ContainerCannotRun", describeProblem(command[0] ?? "", problem));
  // Only the attempt before this one can still be asked for.
  await rm(logPath(services, pod, container.name, input.attempt - 2), { force: true });
  const log = await ContainerLog.open(logPath(services, pod, container.name, input.attempt), services.clock);
  try {
    const handle = await sandbox.startContainer({
      id: input.id,
      rootfs: image.rootfs,
      command,
      env,
      cwd,
      user: account,
      mounts,
      ...security,
      tty: container.tty,
      stdin: container.stdin,
      limits: limitsOf(container),
      oneShot: input.oneShot,
      ...(input.joins === undefined ? {} : { joins: input.joins }),
      onOutput: (stream, chunk) => {
        log.write(stream, chunk);
        input.onOutput?.(stream, chunk);
      },
    });
    const { uid, gid, groups } = account;
    return { handle, log, user: { uid, gid, groups }, terminationMessage: message };
  } catch (error) {
    log.close();
    throw error;
  }
}

/** `NAMESPACE_NAME_UID/CONTAINER/ATTEMPT.log`, as under a real node's /var/log/pods. */
export function logPath(
  services: KubeletServices,
  pod: StoredPod,
  container: string,
  attempt: number,
): string {
  return join(logDirectory(services, pod), container, `${attempt}.log`);
}

export function logDirectory(services: KubeletServices, pod: StoredPod): string {
  const { namespace, name, uid } = pod.metadata;
  return join(services.dataDirectory, "logs", `${namespace}_${name}_${uid}`);
}

/** `command` stands for the image's entrypoint and, when given, hides its arguments too. */
function commandOf(
  container: Container,
  image: ResolvedImage,
  env: Readonly<Record<string, string>>,
): string[] {
  const own = (container.command ?? []).map((word) => expand(word, env));
  const args = (container.args ?? []).map((word) => expand(word, env));
  if (own.length > 0) return [...own, ...args];
  return [...image.config.entrypoint, ...(args.length > 0 ? args : image.config.cmd)];
}

async function allMounts(
  input: StartInput,
  env: Readonly<Record<string, string>>,
  messageFile: string,
): Promise<ContainerMount[]> {
  const { container, sandbox, directory, volumes } = input;
  const own = await volumes.mounts(container, env);
  await mkdir(join(directory, "containers", container.name), { recursive: true });
  await writeFile(messageFile, "");
  // Not at creation: the process's mask would bite, and the container may run as anybody.
  await chmod(messageFile, 0o666);
  const taken = new Set(own.map(({ target }) => target));
  const given: ContainerMount[] = [
    { source: join(sandbox.directory, "hosts"), target: "/etc/hosts", readOnly: false },
    { source: join(sandbox.directory, "resolv.conf"), target: "/etc/resolv.conf", readOnly: false },
    { source: join(sandbox.directory, "hostname"), target: "/etc/hostname", readOnly: false },
    {
      source: messageFile,
      target: container.terminationMessagePath ?? "/dev/termination-log",
      readOnly: false,
    },
  ];
  return [...own, ...given.filter(({ target }) => !taken.has(target))];
}

export function limitsOf(container: Container): ContainerLimits {
  const { limits, requests } = container.resources ?? {};
  // Who asks for nothing has the least weight; a limit stands for a request that is missing.
  const requested = Quantity.from(requests?.cpu ?? limits?.cpu ?? 0).milliValue();
  return {
    ...(limits?.memory === undefined ? {} : { memoryBytes: Number(Quantity.from(limits.memory).value()) }),
    ...(limits?.cpu === undefined ? {} : { cpuMillis: Number(Quantity.from(limits.cpu).milliValue()) }),
    cpuShares: Math.max(2, Number((requested * 1024n) / 1000n)),
  };
}

function describeProblem(command: string, problem: string): string {
  const quoted = JSON.stringify(command);
  if (problem === "not found") {
    return command.includes("/")
      ? `exec: ${quoted}: stat ${command}: no such file or directory`
      : `exec: ${quoted}: executable file not found in $PATH`;
  }
  return `exec: ${quoted}: ${problem}`;
}

function splitVariable(pair: string): [string, string] {
  const equals = pair.indexOf("=");
  return equals < 0 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
}
