/** A Memcached is a Deployment and a Service; its status is what the Deployment says, and its pods by name. */
import { controller, type Desired, type ObjectOf, Quantity, select } from "keelson";
import { Deployment, Pod, Service } from "keelson/kinds";
import { Memcached } from "./api.ts";

const PORT = 11211;

export const memcached = controller(Memcached, {
  owns: { deployment: Deployment, service: Service },
  reads: { pods: select(Pod, (object: ObjectOf<typeof Memcached>) => ({ labels: labelsOf(object) })) },
  // No outcome of its own: a Memcached is ready when its Deployment and its Service are.
  compose: (object, { deployment, pods }) => ({
    children: { deployment: deploymentFor(object), service: serviceFor(object) },
    status: {
      readyReplicas: deployment?.status?.readyReplicas ?? 0,
      nodes: namesOf(pods),
      selector: `app=memcached,instance=${object.metadata.name}`,
    },
  }),
});

/** Without those that are going. */
function namesOf(pods: readonly ObjectOf<typeof Pod>[]): string[] {
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return staying.map(({ metadata }) => metadata.name).sort();
}

function labelsOf(object: ObjectOf<typeof Memcached>) {
  return { app: "memcached", instance: object.metadata.name };
}

function deploymentFor(object: ObjectOf<typeof Memcached>): Desired<typeof Deployment> {
  const { image, memory, size } = object.spec;
  const labels = labelsOf(object);
  return {
    spec: {
      replicas: size,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 11211,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [
            {
              name: "memcached",
              image,
              args: ["memcached", `--port=${PORT}`, `--memory-limit=${mebibytes(memory)}`],
              ports: [{ name: "memcached", containerPort: PORT }],
              resources: { limits: { memory } },
              readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 2 },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
            },
          ],
        },
      },
    },
  };
}

function serviceFor(object: ObjectOf<typeof Memcached>): Desired<typeof Service> {
  return {
    spec: {
      selector: labelsOf(object),
      ports: [{ name: "memcached", port: PORT, targetPort: PORT }],
    },
  };
}

/** memcached counts in mebibytes and keeps some memory for itself. */
function mebibytes(memory: string | number): number {
  const bytes = Quantity.from(memory).toNumber();
  return Math.max(8, Math.floor((bytes * 0.8) / 2 ** 20));
}
