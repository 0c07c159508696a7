/** The pod of one instance: the agent is its first process, and PostgreSQL the agent's child. */
import { podPlacement } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Pod } from "keelson/kinds";
import type { AgentSettings } from "../agent/settings.ts";
import { settingsVariable } from "../agent/settings.ts";
import { agentPort, probePort } from "../agent/wire.ts";
import { annotations, labels } from "../api/names.ts";
import {
  agentAccount,
  agentSecret,
  type DatabaseName,
  instancesService,
  postgresPort,
  selectorLabels,
} from "./names.ts";
import { digestOf, type Recipe } from "./recipe.ts";
import type { RestoreSource } from "./store.ts";

type PodSpec = NonNullable<Desired<typeof Pod>["spec"]>;
type Container = PodSpec["containers"][number];

/** The user `postgres` of the image. PostgreSQL's tools want an entry in the image's own list of users. */
const postgresUser = 999;

const containerSecurity: Container["securityContext"] = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
};

const dataPath = "/var/lib/postgresql/data";
const secretsPath = "/var/run/keelson/secrets";
const backupsPath = "/var/run/keelson/backups";
const restorePath = "/var/run/keelson/restore";

export interface PodOptions {
  readonly database: DatabaseName;
  readonly instance: string;
  readonly recipe: Recipe;
  readonly major: string;
  /** The operator's own image, which carries the agent. */
  readonly agentImage: string;
  readonly installCommand: readonly string[];
  readonly archive: boolean;
  /** Of the first instance, while there is no data. */
  readonly restore?: RestoreSource;
}

export function podFor(options: PodOptions): Desired<typeof Pod> {
  const { database, instance, recipe, agentImage } = options;
  const pod = recipe.pod ?? {};
  return {
    metadata: {
      name: instance,
      labels: { ...pod.labels, ...selectorLabels(database) },
      annotations: { ...pod.annotations, [annotations.template]: digestOf(recipe) },
    },
    spec: {
      hostname: instance,
      subdomain: instancesService(database),
      serviceAccountName: agentAccount(database),
      enableServiceLinks: false,
      restartPolicy: "Always",
      // Long enough to hand over and stop cleanly.
      terminationGracePeriodSeconds: 60,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: postgresUser,
        runAsGroup: postgresUser,
        fsGroup: postgresUser,
        fsGroupChangePolicy: "OnRootMismatch",
        seccompProfile: { type: "RuntimeDefault" },
      },
      ...podPlacement(recipe.pod, selectorLabels(database)),
      initContainers: [
        {
          name: "agent",
          image: agentImage,
          command: [...options.installCommand, "/keelson"],
          securityContext: containerSecurity,
          terminationMessagePolicy: "FallbackToLogsOnError",
          volumeMounts: [{ name: "agent", mountPath: "/keelson" }],
        },
      ],
      containers: [postgresContainer(options)],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: instance } },
        { name: "agent", emptyDir: {} },
        { name: "run", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
        { name: "secrets", secret: { secretName: agentSecret(database), defaultMode: 0o440 } },
        ...(recipe.store
          ? [{ name: "backups", persistentVolumeClaim: { claimName: recipe.store.claim } }]
          : []),
        ...(options.restore
          ? [{ name: "restore", persistentVolumeClaim: { claimName: options.restore.claim } }]
          : []),
      ],
    },
  };
}

function postgresContainer(options: PodOptions): Container {
  const { recipe } = options;
  const probe = (path: string) => ({ httpGet: { path, port: probePort } });
  return {
    name: "postgres",
    image: recipe.image,
    command: ["/keelson/node", "/keelson/agent/main.ts"],
    env: [
      { name: settingsVariable, value: JSON.stringify(settingsFor(options)) },
      { name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
      { name: "NODE_NO_WARNINGS", value: "1" },
    ],
    ports: [
      { name: "postgresql", containerPort: postgresPort },
      { name: "agent", containerPort: agentPort },
      { name: "probes", containerPort: probePort },
    ],
    ...(recipe.resources === undefined ? {} : { resources: recipe.resources as Container["resources"] }),
    // The agent judges PostgreSQL; the kubelet only judges the agent.
    startupProbe: { ...probe("/livez"), periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 120 },
    livenessProbe: { ...probe("/livez"), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    readinessProbe: { ...probe("/readyz"), periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 2 },
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: containerSecurity,
    volumeMounts: [
      { name: "data", mountPath: dataPath },
      { name: "agent", mountPath: "/keelson", readOnly: true },
      { name: "run", mountPath: "/run/keelson" },
      { name: "tmp", mountPath: "/tmp" },
      { name: "secrets", mountPath: secretsPath, readOnly: true },
      ...(recipe.store ? [{ name: "backups", mountPath: backupsPath }] : []),
      ...(options.restore ? [{ name: "restore", mountPath: restorePath, readOnly: true }] : []),
    ],
  };
}

function settingsFor({ database, instance, recipe, major, archive, restore }: PodOptions): AgentSettings {
  const leaseMs = recipe.leaseSeconds * 1_000;
  return {
    namespace: database.namespace,
    database: database.name,
    instance,
    subdomain: instancesService(database),
    roleLabel: labels.role,
    directory: dataPath,
    programs: `/usr/lib/postgresql/${major}/bin`,
    socketDirectory: "/run/keelson/postgresql",
    secrets: secretsPath,
    timings: { leaseMs, fenceMs: leaseMs * 0.75 },
    ...(recipe.store && { store: `${backupsPath}/${recipe.store.directory}`, archive }),
    ...(restore && {
      restore: {
        store: `${restorePath}/${restore.directory}`,
        backup: restore.backup,
        ...(restore.targetTime !== undefined && { targetTime: restore.targetTime }),
      },
    }),
  };
}
