/** Pods that run the agent, which comes with the operator's own image. */
import { extname, join, relative } from "node:path";
import { type MountedVolume as Mounted, mountSecret } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Job } from "keelson/kinds";
import {
  type AgentTask,
  hostsVariable,
  portVariable,
  type RedisAccess,
  taskVariable,
} from "../agent/task.ts";
import { labels } from "../api/names.ts";
import type { Spec } from "../api/sampledb.ts";
import { adoptable, type DatabaseName, objectNames, selectorLabels, tlsSecretName } from "./names.ts";
import { systemUsers } from "./settings.ts";
import { containerSecurity, podSecurity } from "./stateful-set.ts";

export type { Mounted };
export type PodSpec = NonNullable<NonNullable<NonNullable<Desired<typeof Job>["spec"]>["template"]>["spec"]>;
export type Container = PodSpec["containers"][number];

/** The variable that names the image of the operator, set by its Deployment. */
const imageVariable = "OPERATOR_IMAGE";

export function operatorImage(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return env[imageVariable] || undefined;
}

/** Relative to the image's working directory, which is the package's root as it is here. */
const module = relative(
  join(import.meta.dirname, "../.."),
  join(import.meta.dirname, "../agent", `main${extname(import.meta.filename)}`),
);

export const agentCommand: string[] = ["node", module];

/** Where the servers are: a pod takes it from the ConfigMap of the database. */
export function connectionEnv(database: DatabaseName): NonNullable<Container["env"]> {
  const from = (key: string) => ({ configMapKeyRef: { name: objectNames(database).config, key } });
  return [
    { name: hostsVariable, valueFrom: from("hosts") },
    { name: portVariable, valueFrom: from("port") },
  ];
}

export const mounts = {
  internal: "/var/run/keelson/internal",
  config: "/var/run/keelson/config",
  tls: "/var/run/keelson/tls",
} as const;

export function agentContainer(
  name: string,
  image: string,
  task: AgentTask,
  options: { readonly mounted: readonly Mounted[]; readonly env?: Container["env"] },
): Container {
  return {
    name,
    image,
    command: agentCommand,
    env: [{ name: taskVariable, value: JSON.stringify(task) }, ...(options.env ?? [])],
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: containerSecurity,
    volumeMounts: options.mounted.map(({ mount }) => mount),
  };
}

/** How a pod of ours reaches the servers: addresses from here, passwords and certificates from Secrets. */
export function redisAccess(
  database: DatabaseName,
  spec: Spec,
  options: { readonly user: keyof typeof systemUsers },
): { readonly access: RedisAccess; readonly mounted: readonly Mounted[] } {
  const { internal, writes } = objectNames(database);
  const certificate = tlsSecretName(database, spec);
  const username = systemUsers[options.user];
  return {
    access: {
      username,
      passwordFile: `${mounts.internal}/${username}`,
      ...(spec.tls && {
        tls: { caFile: `${mounts.tls}/ca.crt`, serverName: `${writes}.${database.namespace}.svc` },
      }),
    },
    mounted: [
      mountSecret("internal", internal, mounts.internal),
      ...(certificate === undefined ? [] : [mountSecret("tls", certificate, mounts.tls)]),
    ],
  };
}

export function jobPod(
  database: DatabaseName,
  parts: Partial<PodSpec> & Pick<PodSpec, "containers">,
  mounted: readonly Mounted[],
) {
  return {
    metadata: { labels: { [labels.name]: "sampledb-job", [labels.instance]: database.name } },
    spec: {
      restartPolicy: "Never" as const,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 5,
      securityContext: podSecurity,
      ...parts,
      volumes: mounted.map(({ volume }) => volume),
    },
  };
}

export interface InitJobOptions {
  readonly database: DatabaseName;
  readonly spec: Spec;
  readonly hash: string;
  readonly image: string;
}

export function initJob({ database, spec, hash, image }: InitJobOptions): Desired<typeof Job> {
  const { access, mounted } = redisAccess(database, spec, { user: "operator" });
  const config: Mounted = {
    volume: { name: "config", configMap: { name: objectNames(database).config } },
    mount: { name: "config", mountPath: mounts.config, readOnly: true },
  };
  const all = [...mounted, config];
  const task: AgentTask = { do: "initialize", access, contentFile: `${mounts.config}/initialize.json`, hash };
  return {
    metadata: {
      name: `${database.name}-init-${hash}`,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: {
      backoffLimit: 3,
      activeDeadlineSeconds: 900,
      template: jobPod(
        database,
        {
          containers: [
            agentContainer("initialize", image, task, { mounted: all, env: connectionEnv(database) }),
          ],
        },
        all,
      ),
    },
  };
}
