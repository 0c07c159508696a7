/** PgBouncer before the primary: a Deployment, its Services, and the users that it knows. */
import { restrictedContainer } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Deployment, Secret, Service } from "keelson/kinds";
import { type PoolerSettings, poolerPort, poolerVariable } from "../agent/pooler.ts";
import { agentPort, probePort } from "../agent/wire.ts";
import type { DatabaseObject, Spec } from "../api/database.ts";
import { annotations, labels } from "../api/names.ts";
import { agentSecret, databaseName, poolerName, poolersService, postgresPort, tlsSecret } from "./names.ts";
import { installContainer, type PodOptions, podSecurity, secretsPath } from "./pod.ts";
import { digestOf } from "./recipe.ts";

const usersPath = "/var/run/keelson/users";
const tlsPath = "/var/run/keelson/tls";
const runPath = "/run/keelson";

type PoolerSpec = NonNullable<Spec["pooler"]>;

function labelsOf({ metadata }: DatabaseObject): { [name: string]: string } {
  return { [labels.name]: "pgbouncer", [labels.instance]: metadata.name };
}

export function poolerServices(object: DatabaseObject): {
  clients: Desired<typeof Service>;
  agents: Desired<typeof Service>;
} {
  const database = databaseName(object);
  const selector = labelsOf(object);
  return {
    clients: {
      metadata: { name: poolerName(database), labels: selector },
      spec: { selector, ports: [{ name: "postgresql", port: postgresPort, targetPort: poolerPort }] },
    },
    // The primary must reach every pooler, also one that is not ready yet.
    agents: {
      metadata: { name: poolersService(database), labels: selector },
      spec: {
        clusterIP: "None",
        publishNotReadyAddresses: true,
        selector,
        ports: [{ name: "agent", port: agentPort, targetPort: agentPort }],
      },
    },
  };
}

/** Every role that can log in and whose password is known. */
export function poolerUsers(
  object: DatabaseObject,
  passwords: ReadonlyMap<string, string>,
): Desired<typeof Secret> {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = [...passwords].map(([role, password]) => `${quoted(role)} ${quoted(password)}`).sort();
  return {
    metadata: { name: poolerName(databaseName(object)), labels: labelsOf(object) },
    type: "Opaque",
    data: { "users.txt": Buffer.from(`${lines.join("\n")}\n`).toString("base64") },
  };
}

export function poolerDeployment(
  object: DatabaseObject,
  pooler: PoolerSpec,
  options: Pick<PodOptions, "agentImage" | "installCommand">,
): Desired<typeof Deployment> {
  const database = databaseName(object);
  const settings: PoolerSettings = {
    host: `${database.name}.${database.namespace}.svc`,
    mode: pooler.mode,
    poolSize: pooler.poolSize,
    maxClients: pooler.maxClients,
    secrets: secretsPath,
    users: usersPath,
    tls: tlsPath,
    requireTls: object.spec.tls.require,
    directory: `${runPath}/pgbouncer`,
  };
  const selector = labelsOf(object);
  const template = {
    labels: selector,
    annotations: { [annotations.template]: digestOf({ settings, pooler }) },
  };
  const probe = { httpGet: { path: "/", port: probePort }, periodSeconds: 2, timeoutSeconds: 3 };
  return {
    metadata: { name: poolerName(database), labels: selector },
    spec: {
      replicas: object.spec.hibernate ? 0 : pooler.instances,
      selector: { matchLabels: selector },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: template,
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 30,
          securityContext: podSecurity,
          initContainers: [installContainer(options)],
          containers: [
            {
              name: "pgbouncer",
              image: pooler.image,
              command: ["/keelson/node", "/keelson/agent/pooler.ts"],
              env: [
                { name: poolerVariable, value: JSON.stringify(settings) },
                { name: "NODE_NO_WARNINGS", value: "1" },
              ],
              ports: [{ name: "postgresql", containerPort: poolerPort }],
              readinessProbe: probe,
              livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 6 },
              securityContext: restrictedContainer,
              ...(pooler.resources === undefined ? {} : { resources: pooler.resources as never }),
              volumeMounts: [
                { name: "agent", mountPath: "/keelson", readOnly: true },
                { name: "run", mountPath: runPath },
                { name: "secrets", mountPath: secretsPath, readOnly: true },
                { name: "users", mountPath: usersPath, readOnly: true },
                { name: "tls", mountPath: tlsPath, readOnly: true },
              ],
            },
          ],
          volumes: [
            { name: "agent", emptyDir: {} },
            { name: "run", emptyDir: {} },
            { name: "secrets", secret: { secretName: agentSecret(database), defaultMode: 0o440 } },
            { name: "users", secret: { secretName: poolerName(database), defaultMode: 0o440 } },
            {
              name: "tls",
              secret: { secretName: object.spec.tls.secret ?? tlsSecret(database), defaultMode: 0o440 },
            },
          ],
        },
      },
    },
  };
}
