/** The pod of one instance: the agent is its first process, and PostgreSQL the agent's child. */
import { podPlacement, restrictedContainer, restrictedPod } from "@keelson/kit";
import type { Desired, ObjectOf } from "keelson";
import type { Pod } from "keelson/kinds";
import type { AgentSettings } from "../agent/settings.ts";
import { settingsVariable } from "../agent/settings.ts";
import { agentPort, probePort } from "../agent/wire.ts";
import { annotations, labels } from "../api/names.ts";
import { parseKnownJson } from "../ha/json.ts";
import {
  agentAccount,
  agentSecret,
  type DatabaseName,
  instancesService,
  postgresPort,
  selectorLabels,
  tlsSecret,
} from "./names.ts";
import { digestOf, type Recipe } from "./recipe.ts";
import { mountPlace, type RestoreSource, type StorePlace } from "./store.ts";

type PodSpec = NonNullable<Desired<typeof Pod>["spec"]>;
type Container = PodSpec["containers"][number];

/** The user `postgres` of the image. PostgreSQL's tools want an entry in the image's own list of users. */
const postgresUser = 999;

/** What the pod mounts belongs to PostgreSQL. */
export const podSecurity = restrictedPod(postgresUser);

const dataPath = "/var/lib/postgresql/data";
export const secretsPath = "/var/run/keelson/secrets";
const tlsPath = "/var/run/keelson/tls";
const backupsPath = "/var/run/keelson/backups";
const restorePath = "/var/run/keelson/restore";
export const oldPath = "/var/run/keelson/old";

export interface PodOptions {
  readonly database: DatabaseName;
  readonly instance: string;
  readonly recipe: Recipe;
  readonly major: string;
  /** The operator's own image, which carries the agent. */
  readonly agentImage: string;
  readonly installCommand: readonly string[];
  /** What its data is from, while it is taken from there to this version. */
  readonly upgradeFrom?: { readonly image: string; readonly major: string };
  readonly archive: boolean;
  /** Of the first instance, while there is no data. */
  readonly restore?: RestoreSource;
}

export function podFor(options: PodOptions): Desired<typeof Pod> {
  const { database, instance, recipe } = options;
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
      securityContext: podSecurity,
      ...podPlacement(recipe.pod, selectorLabels(database)),
      initContainers: [
        installContainer(options),
        ...(options.upgradeFrom ? [oldProgramsContainer(options.upgradeFrom)] : []),
      ],
      containers: [postgresContainer(options)],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: instance } },
        { name: "agent", emptyDir: {} },
        { name: "run", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
        ...(options.upgradeFrom ? [{ name: "old", emptyDir: {} }] : []),
        { name: "secrets", secret: { secretName: agentSecret(database), defaultMode: 0o440 } },
        { name: "tls", secret: { secretName: recipe.tls.secret ?? tlsSecret(database), defaultMode: 0o440 } },
        ...storesOf(options).map(({ volume }) => volume),
      ],
    },
  };
}

const ownStore = (place: StorePlace) => mountPlace(place, { name: "backups", path: backupsPath });
const otherStore = (place: StorePlace) =>
  mountPlace(place, { name: "restore", path: restorePath, readOnly: true });

/** Whether what its instance stores lies there. A pod that was made from an older spec has another store, or none. */
export function hasStore({ spec }: ObjectOf<typeof Pod>, place: StorePlace): boolean {
  const { volume, location } = ownStore(place);
  const mounted = spec?.volumes?.find(({ name }) => name === volume.name);
  if (mounted?.persistentVolumeClaim?.claimName !== volume.persistentVolumeClaim?.claimName) return false;
  const { env = [] } = spec?.containers.find(({ name }) => name === "postgres") ?? {};
  const settings = parseKnownJson(env.find(({ name }) => name === settingsVariable)?.value ?? "{}");
  return digestOf((settings as Partial<AgentSettings>).store) === digestOf(location);
}

function storesOf({ recipe, restore }: PodOptions) {
  return [...(recipe.store ? [ownStore(recipe.store)] : []), ...(restore ? [otherStore(restore)] : [])];
}

/** Brings the agent and a Node to run it. */
export function installContainer(options: Pick<PodOptions, "agentImage" | "installCommand">): Container {
  return {
    name: "agent",
    image: options.agentImage,
    command: [...options.installCommand, "/keelson"],
    securityContext: restrictedContainer,
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [{ name: "agent", mountPath: "/keelson" }],
  };
}

/** Brings the programs of the version before: pg_upgrade needs those of both. */
export function oldProgramsContainer({
  image,
  major,
}: {
  readonly image: string;
  readonly major: string;
}): Container {
  return {
    name: "old-programs",
    image,
    command: ["/keelson/node", "/keelson/agent/take-programs.ts", major, oldPath],
    env: [{ name: "NODE_NO_WARNINGS", value: "1" }],
    securityContext: restrictedContainer,
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [
      { name: "agent", mountPath: "/keelson", readOnly: true },
      { name: "old", mountPath: oldPath },
    ],
  };
}

export function programsOf(major: string, root = ""): string {
  return `${root}/usr/lib/postgresql/${major}/bin`;
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
      { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
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
    securityContext: restrictedContainer,
    volumeMounts: [
      { name: "data", mountPath: dataPath },
      { name: "agent", mountPath: "/keelson", readOnly: true },
      { name: "run", mountPath: "/run/keelson" },
      { name: "tmp", mountPath: "/tmp" },
      ...(options.upgradeFrom ? [{ name: "old", mountPath: oldPath, readOnly: true }] : []),
      { name: "secrets", mountPath: secretsPath, readOnly: true },
      { name: "tls", mountPath: tlsPath, readOnly: true },
      ...storesOf(options).map(({ mount }) => mount),
    ],
  };
}

function settingsFor(options: PodOptions): AgentSettings {
  const { database, instance, recipe, major, archive, restore, upgradeFrom } = options;
  const leaseMs = recipe.leaseSeconds * 1_000;
  return {
    namespace: database.namespace,
    database: database.name,
    instance,
    subdomain: instancesService(database),
    roleLabel: labels.role,
    directory: dataPath,
    programs: programsOf(major),
    major,
    ...(upgradeFrom && { oldPrograms: programsOf(upgradeFrom.major, oldPath) }),
    socketDirectory: "/run/keelson/postgresql",
    secrets: secretsPath,
    tls: { source: tlsPath, directory: "/run/keelson/certificates", require: recipe.tls.require },
    timings: { leaseMs, fenceMs: leaseMs * 0.75 },
    ...(recipe.store && { store: ownStore(recipe.store).location, archive }),
    ...(restore && {
      restore: {
        store: otherStore(restore).location,
        backup: restore.backup,
        ...(restore.targetTime !== undefined && { targetTime: restore.targetTime }),
      },
    }),
  };
}
