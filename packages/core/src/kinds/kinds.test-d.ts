/** What must and must not compile; `kinds.test.ts` runs the compiler over it. */
import type { InputOf, ObjectOf } from "../kind.ts";
import {
  type CustomResourceDefinition,
  type Deployment,
  type Event,
  eventsV1,
  type Pod,
  type PodSpec,
  type Quantity,
} from "./index.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const yes = <T extends true>(value?: T): T | undefined => value;

const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "nginx" }] },
};

export const deployment: Deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: { replicas: 0, selector: { matchLabels: { app: "web" } }, strategy: { type: "Recreate" }, template },
};

export const typo: Deployment = {
  // @ts-expect-error: the field is called replicas.
  spec: { replica: 3, selector: {}, template },
};

export const nestedTypo: Pod = {
  // @ts-expect-error: the field is called image.
  spec: { containers: [{ name: "web", iamge: "nginx" }] },
};

export const unknownChoice: Deployment = {
  // @ts-expect-error: not one of the strategies.
  spec: { strategy: { type: "Rolling" }, selector: {}, template },
};

// @ts-expect-error: containers are required.
export const empty: PodSpec = {};

export const quantities: Quantity[] = ["100m", 1];

// Two kinds of one name stay apart.
// @ts-expect-error: the groups differ.
export const mixed: typeof Event = eventsV1.Event;

yes<Equal<InputOf<typeof Deployment>, Deployment>>();
yes<Equal<(typeof Deployment)["group"], "apps">>();
yes<Equal<(typeof Pod)["kind"], "Pod">>();

/** The server always writes the spec; a stored object can be sent back as it is. */
export function replicas(stored: ObjectOf<typeof Deployment>): [number | undefined, Deployment] {
  return [stored.spec.replicas, stored];
}

/** The compiler can follow a schema into itself. */
export const crd: InputOf<typeof CustomResourceDefinition> = {
  spec: {
    group: "example.com",
    names: { kind: "Widget", plural: "widgets" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            additionalProperties: true,
            properties: { size: { type: "integer", "x-kubernetes-int-or-string": true } },
          },
        },
      },
    ],
  },
};
