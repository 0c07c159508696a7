/** A controller that composes: a pure function from what is observed to what should be. */
import { controller, type Desired, type ObjectOf } from "keelson";
import { Deployment, Service } from "keelson/kinds";
import { Cache } from "./cache.ts";

export const cache = controller(Cache, {
  owns: { deployment: Deployment, service: Service },
  compose: (object, { deployment }) => ({
    children: { deployment: deploymentFor(object), service: serviceFor(object) },
    status: { readyReplicas: deployment?.status?.readyReplicas ?? 0 },
  }),
});

function deploymentFor({ metadata, spec }: ObjectOf<typeof Cache>): Desired<typeof Deployment> {
  const labels = { app: metadata.name };
  const container = { name: "memcached", image: spec.image, resources: { limits: { memory: spec.memory } } };
  return {
    spec: {
      replicas: spec.size,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

function serviceFor({ metadata }: ObjectOf<typeof Cache>): Desired<typeof Service> {
  return { spec: { selector: { app: metadata.name }, ports: [{ port: 11211 }] } };
}
