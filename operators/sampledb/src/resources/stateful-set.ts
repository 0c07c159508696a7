/** The StatefulSet of the servers. The operator decides when a pod is replaced: OnDelete. */
import { hash } from "node:crypto";
import { podPlacement } from "@keelson/kit";
import type { Desired } from "keelson";
import type { StatefulSet } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { Spec } from "../api/sampledb.ts";
import { redisPort } from "../engine/redis.ts";
import { type DatabaseName, objectNames, selectorLabels, tlsSecretName } from "./names.ts";
import { paths, restartSettings } from "./settings.ts";
import { livenessScript, preStopScript, readinessScript } from "./start-script.ts";

type Set = Desired<typeof StatefulSet>;
type PodSpec = NonNullable<NonNullable<NonNullable<Set["spec"]>["template"]>["spec"]>;
type Container = PodSpec["containers"][number];

/** The user of the redis image; the restricted pod security profile wants a number. */
const redisUser = 999;

export const podSecurity: PodSpec["securityContext"] = {
  runAsNonRoot: true,
  runAsUser: redisUser,
  runAsGroup: redisUser,
  fsGroup: redisUser,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
};

export const containerSecurity: Container["securityContext"] = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
};

export function imageOf(spec: Pick<Spec, "image">, version: string): string {
  return `${spec.image}:${version}`;
}

/** The version of an image that `imageOf` named. */
export function versionOfImage(image: string | undefined): string | undefined {
  return /:([0-9]+\.[0-9]+)$/.exec(image ?? "")?.[1];
}

export interface SetOptions {
  readonly database: DatabaseName;
  readonly spec: Spec;
  /** The version that servers run, which an upgrade changes when it is time. */
  readonly version: string;
  /** How many servers there are, the primary included. */
  readonly servers: number;
  /** Of the claims that the StatefulSet would make; it never changes after its creation. */
  readonly templateSize: string;
  /** The template that stays, as long as the wanted one was not tried. */
  readonly kept?: NonNullable<Set["spec"]>["template"] | undefined;
  /** The annotation that lets the operator take over a claim that the StatefulSet made. */
  readonly adopt: string;
}

/** Digest of all that needs a new pod when it changes. */
export function templateHash(spec: Spec, version: string): string {
  return hash(
    "sha256",
    JSON.stringify(podTemplate({ name: "x", namespace: "x", uid: "" }, spec, version)),
  ).slice(0, 12);
}

export function statefulSet(options: SetOptions): Set {
  const { database, spec, version, servers, templateSize, adopt, kept } = options;
  const template = podTemplate(database, spec, version);
  return {
    metadata: { name: objectNames(database).statefulSet, labels: selectorLabels(database) },
    spec: {
      replicas: servers,
      serviceName: objectNames(database).servers,
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "OnDelete" },
      revisionHistoryLimit: 2,
      selector: { matchLabels: selectorLabels(database) },
      template: kept ?? {
        ...template,
        metadata: {
          ...template.metadata,
          annotations: {
            ...template.metadata.annotations,
            [annotations.template]: templateHash(spec, version),
          },
        },
      },
      volumeClaimTemplates: [
        {
          metadata: {
            name: "data",
            labels: selectorLabels(database),
            annotations: { [adopt]: database.name },
          },
          spec: {
            accessModes: ["ReadWriteOnce"],
            resources: { requests: { storage: templateSize } },
          },
        },
      ],
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
    },
  };
}

export function podTemplate(database: DatabaseName, spec: Spec, version: string) {
  const { pod } = spec;
  const secretName = tlsSecretName(database, spec);
  return {
    metadata: {
      labels: { ...pod.labels, ...selectorLabels(database) },
      annotations: {
        ...pod.annotations,
        [annotations.restartSettings]: JSON.stringify(restartSettings(spec)),
      },
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // Redis is not the first process then, so that a drill's signals reach it.
      shareProcessNamespace: true,
      terminationGracePeriodSeconds: 30,
      securityContext: podSecurity,
      ...podPlacement(spec.pod, selectorLabels(database)),
      containers: [container(spec, version)],
      volumes: [
        { name: "config", configMap: { name: objectNames(database).config, defaultMode: 0o444 } },
        { name: "acl", secret: { secretName: objectNames(database).acl, defaultMode: 0o440 } },
        { name: "internal", secret: { secretName: objectNames(database).internal, defaultMode: 0o440 } },
        ...(secretName === undefined ? [] : [{ name: "tls", secret: { secretName, defaultMode: 0o440 } }]),
        { name: "run", emptyDir: { medium: "Memory" as const, sizeLimit: "1Mi" } },
      ],
    },
  };
}

function container(spec: Spec, version: string): Container {
  const { resources } = spec;
  const probe = (script: string) => ({ exec: { command: ["sh", "-c", script] } });
  const tls = spec.tls !== undefined;
  return {
    name: "redis",
    image: imageOf(spec, version),
    command: ["sh", `${paths.config}/start.sh`],
    ports: [{ name: "redis", containerPort: redisPort }],
    ...(resources === undefined ? {} : { resources: resources as Container["resources"] }),
    // Loading takes as long as the data is large.
    startupProbe: {
      ...probe(livenessScript(tls)),
      periodSeconds: 1,
      timeoutSeconds: 5,
      failureThreshold: 300,
    },
    readinessProbe: {
      ...probe(readinessScript(tls)),
      periodSeconds: 2,
      timeoutSeconds: 3,
      failureThreshold: 2,
    },
    // The operator fences a silent primary long before this ends its process.
    livenessProbe: {
      ...probe(livenessScript(tls)),
      periodSeconds: 10,
      timeoutSeconds: 10,
      failureThreshold: 3,
    },
    lifecycle: { preStop: probe(preStopScript(tls)) },
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: containerSecurity,
    volumeMounts: [
      { name: "data", mountPath: paths.data },
      { name: "config", mountPath: paths.config, readOnly: true },
      { name: "acl", mountPath: paths.acl, readOnly: true },
      { name: "internal", mountPath: paths.internal, readOnly: true },
      ...(spec.tls ? [{ name: "tls", mountPath: paths.tls, readOnly: true }] : []),
      { name: "run", mountPath: paths.run },
    ],
  };
}
