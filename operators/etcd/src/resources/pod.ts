/** The pod of one member. */
import { podPlacement, restrictedContainer, restrictedPod, restrictedPodWithoutVolumes } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Pod } from "keelson/kinds";
import type { Recipe, Spec, Template } from "../api/cluster.ts";
import { annotations, labels } from "../api/names.ts";
import { hasHealthEndpoints } from "../engine/version.ts";
import { memberSecretName } from "./certificate-names.ts";
import {
  dataVolumePath,
  etcdCommand,
  type StartMode,
  type StartSettings,
  startSettings,
  tlsPaths,
} from "./flags.ts";
import {
  type ClusterName,
  clientPort,
  metricsPort,
  nonRoot,
  peerPort,
  selectorLabels,
  trialName,
} from "./names.ts";
import { recipeTls } from "./recipe.ts";
import { type RestoreSource, restoreContainers } from "./restore-containers.ts";

type PodSpec = NonNullable<Desired<typeof Pod>["spec"]>;
type Container = PodSpec["containers"][number];

export interface PodOptions {
  readonly cluster: ClusterName;
  readonly member: string;
  readonly template: Template;
  readonly start: StartMode;
  /** `voter` is in the client service and the disruption budget. */
  readonly role: "voter" | "learner";
  /** Fills the volume from a backup before etcd starts. */
  readonly restore?: RestoreSource;
}

export function podFor(options: PodOptions): Desired<typeof Pod> {
  const { cluster, member, template, start, role, restore } = options;
  const { recipe } = template;
  const pod = podPart(recipe);
  const { version } = recipe;
  const restoring =
    restore && restoreContainers(cluster, member, { source: restore, version, image: imageOf(recipe) });
  return {
    metadata: {
      name: member,
      labels: { ...pod.labels, ...selectorLabels(cluster), [labels.role]: role },
      annotations: {
        ...pod.annotations,
        [annotations.template]: template.hash,
        ...startAnnotations(startSettings(cluster, member, start)),
      },
    },
    spec: {
      hostname: member,
      subdomain: cluster.name,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      securityContext: restrictedPod(nonRoot),
      ...podPlacement(pod, selectorLabels(cluster)),
      ...(restoring && { initContainers: restoring.initContainers }),
      containers: [container(cluster, member, recipe)],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: member } },
        ...tlsVolumes(cluster, member, recipe),
        ...(restoring?.volumes ?? []),
      ],
    },
  };
}

/**
 * A pod that shows whether the image exists, runs here, and may go where the spec sends it, before any member is
 * replaced. It requests no resources: there may be no room beside the members, but there is in place of one.
 */
export function trialFor(cluster: ClusterName, template: Template): Desired<typeof Pod> {
  const { recipe } = template;
  return {
    metadata: {
      name: trialName(cluster, template.hash),
      annotations: { [annotations.template]: template.hash },
    },
    spec: {
      ...podPlacement(podPart(recipe), selectorLabels(cluster)),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: "Never",
      // Nothing is lost with it, so nobody waits for the kubelet of a node that is gone.
      terminationGracePeriodSeconds: 0,
      securityContext: restrictedPodWithoutVolumes(nonRoot),
      containers: [
        {
          name: "etcd",
          image: imageOf(recipe),
          command: ["/usr/local/bin/etcd", "--version"],
          securityContext: restrictedContainer,
        },
      ],
    },
  };
}

/** What the container reads at its next start, on a pod that already runs. */
export function startAnnotations(settings: StartSettings): Record<string, string> {
  return {
    [annotations.initialCluster]: settings.initialCluster,
    [annotations.initialClusterState]: settings.initialClusterState,
    [annotations.forceNewCluster]: settings.forceNewCluster,
  };
}

function imageOf({ image, version }: Recipe): string {
  return `${image}:v${version}`;
}

function container(cluster: ClusterName, member: string, recipe: Recipe): Container {
  const { resources } = recipe;
  return {
    name: "etcd",
    image: imageOf(recipe),
    command: etcdCommand(cluster, member, recipe),
    env: [
      fromAnnotation("ETCD_INITIAL_CLUSTER", annotations.initialCluster),
      fromAnnotation("ETCD_INITIAL_CLUSTER_STATE", annotations.initialClusterState),
      fromAnnotation("ETCD_FORCE_NEW_CLUSTER", annotations.forceNewCluster),
    ],
    ports: [
      { name: "client", containerPort: clientPort },
      { name: "peer", containerPort: peerPort },
      { name: "metrics", containerPort: metricsPort },
    ],
    ...(resources === undefined ? {} : { resources: resources as Container["resources"] }),
    ...probes(recipe.version),
    // The pod's status shows why etcd exited: healing reads it there and needs no permission for logs.
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: restrictedContainer,
    volumeMounts: [
      { name: "data", mountPath: dataVolumePath },
      ...tlsUses(cluster).map((use) => ({ name: `${use}-tls`, mountPath: tlsPaths[use], readOnly: true })),
    ],
  };
}

function tlsUses({ secure }: ClusterName): ("peer" | "client")[] {
  return (["peer", "client"] as const).filter((use) => secure?.[use]);
}

function tlsVolumes(cluster: ClusterName, member: string, recipe: Recipe) {
  return tlsUses(cluster).map((use) => ({
    name: `${use}-tls`,
    secret: {
      secretName: memberSecretName(member, use, recipeTls(recipe, use)?.secret),
      defaultMode: 0o440,
    },
  }));
}

function fromAnnotation(name: string, annotation: string) {
  return { name, valueFrom: { fieldRef: { fieldPath: `metadata.annotations['${annotation}']` } } };
}

/**
 * Liveness asks only whether the process gets to answer at all: a member without a leader, without space or still a
 * learner must not be killed for it, nor one that reads nothing for minutes because it is being defragmented, which is
 * why the read that `/livez` comes with is left out. What needs neither disk nor peers may be asked often: after nine to
 * eleven seconds without an answer, long after the others have elected another leader, a hung process is ended.
 */
function probes(version: string): Pick<Container, "startupProbe" | "livenessProbe" | "readinessProbe"> {
  const on = (path: string) => ({ httpGet: { path, port: metricsPort } });
  const own = hasHealthEndpoints(version);
  const started = own ? on("/livez") : { tcpSocket: { port: metricsPort } };
  return {
    startupProbe: { ...started, periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 1_800 },
    livenessProbe: {
      // Old versions open the client port only when there is a leader; a member must not be killed for want of one.
      ...on(own ? "/livez?exclude=serializable_read" : "/metrics"),
      periodSeconds: 2,
      timeoutSeconds: 3,
      failureThreshold: 3,
      terminationGracePeriodSeconds: 2,
    },
    readinessProbe: {
      // An alarm is raised for the whole cluster: it says nothing about this member, which is needed to lift it.
      ...on(own ? "/readyz?exclude=data_corruption" : "/health?exclude=NOSPACE&exclude=CORRUPT"),
      periodSeconds: 1,
      timeoutSeconds: 3,
      failureThreshold: 3,
    },
  };
}

function podPart(recipe: Recipe): NonNullable<Spec["pod"]> {
  return (recipe.pod ?? {}) as NonNullable<Spec["pod"]>;
}
