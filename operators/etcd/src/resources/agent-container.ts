/** Containers that run the agent, and the volumes that they and etcd's tools need. */
import { type MountedVolume, mountSecret, restrictedContainer } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Pod } from "keelson/kinds";
import { type AgentTask, type MemberAccess, taskVariable } from "../agent/task.ts";
import type { EtcdClusterObject, Spec } from "../api/cluster.ts";
import { agentCommand } from "./agent-image.ts";
import { clientSecretName } from "./certificate-names.ts";
import { clientPort, clusterName, memberHost } from "./names.ts";

export type PodSpec = NonNullable<Desired<typeof Pod>["spec"]>;
export type Container = PodSpec["containers"][number];
export function agentContainer(
  name: string,
  image: string,
  task: AgentTask,
  mounts: readonly MountedVolume[],
): Container {
  return {
    name,
    image,
    command: [...agentCommand],
    env: [{ name: taskVariable, value: JSON.stringify(task) }],
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: restrictedContainer,
    volumeMounts: mounts.map(({ mount }) => mount),
  };
}

/** A program of the etcd image: it has no shell, so it is the command itself. */
export function etcdContainer(
  name: string,
  image: string,
  command: readonly string[],
  mounts: readonly MountedVolume[],
): Container {
  return {
    name,
    image,
    command: [...command],
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: restrictedContainer,
    volumeMounts: mounts.map(({ mount }) => mount),
  };
}

const tlsPath = "/var/run/keelson/tls";
const passwordPath = "/var/run/keelson/root";

/** The cluster's voters as the agent reaches them. */
export function memberAccess(cluster: EtcdClusterObject): {
  access: MemberAccess;
  mounts: readonly MountedVolume[];
} {
  const own = clusterName(cluster);
  const voters = (cluster.status?.members ?? []).filter(({ phase }) => phase === "Voter");
  const credentials = credentialMounts(own.name, cluster.spec);
  return {
    access: {
      hosts: voters.map(({ name }) => memberHost(own, name)),
      port: clientPort,
      ...(cluster.spec.tls?.client ? { tls: tlsPath } : {}),
      ...rootPassword(cluster.spec),
    },
    mounts: credentials,
  };
}

/** The snapshot includes users and passwords: a client of a restored member needs them too. */
export function rootPassword({ auth }: Spec): Pick<MemberAccess, "password"> {
  return auth ? { password: passwordPath } : {};
}

function credentialMounts(cluster: string, { tls, auth }: Spec): MountedVolume[] {
  return [
    ...(tls?.client ? [mountSecret("tls", clientSecretName(cluster, tls.client), tlsPath)] : []),
    ...(auth ? [mountSecret("root", auth.rootSecret, passwordPath)] : []),
  ];
}
