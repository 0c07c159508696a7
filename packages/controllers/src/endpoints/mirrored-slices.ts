/** Slices that show endpoints which somebody keeps by hand. Pure. */
import { isIP } from "node:net";
import { deepEqual, type InputOf, type ObjectOf } from "@keelson/core";
import {
  type discoveryV1,
  type EndpointAddress,
  type EndpointSlice,
  type EndpointSubset,
  Endpoints,
} from "@keelson/core/kinds";
import { omitEmpty } from "../acting/omit-empty.ts";
import { controllerReference } from "../ownership/owner-reference.ts";
import { podNamePrefix } from "../pods/pod-from-template.ts";
import { inOrder } from "./port-order.ts";
import { lastChangeAnnotation } from "./service-pods.ts";
import { managedByLabel, type SliceObject, serviceNameLabel } from "./slices.ts";

export type EndpointsObject = ObjectOf<typeof Endpoints>;
type NewSlice = InputOf<typeof EndpointSlice>;
type Endpoint = discoveryV1.Endpoint;

export const mirroringController = "endpointslicemirroring-controller.k8s.io";
const skipLabel = "endpointslice.kubernetes.io/skip-mirror";
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
const mostPerSubset = 1000;

/** Endpoints that hold an election, or that say so, are nobody's addresses. */
export function isMirrored({ metadata }: EndpointsObject): boolean {
  return metadata.labels?.[skipLabel] !== "true" && metadata.annotations?.[leaderAnnotation] === undefined;
}

export interface Mirror {
  readonly create: readonly NewSlice[];
  readonly update: readonly SliceObject[];
  readonly remove: readonly SliceObject[];
  readonly invalid: number;
  readonly skipped: number;
}

/** One slice for each subset and family; a subset that is too large is cut. */
export function mirror(endpoints: EndpointsObject, existing: readonly SliceObject[]): Mirror {
  const wanted: NewSlice[] = [];
  let invalid = 0;
  let skipped = 0;
  for (const subset of endpoints.subsets ?? []) {
    const { slices, bad, cut } = slicesOf(endpoints, subset);
    wanted.push(...slices);
    invalid += bad;
    skipped += cut;
  }
  const free = [...existing];
  const take = (fits: (slice: SliceObject) => boolean) => {
    const index = free.findIndex(fits);
    return index < 0 ? undefined : free.splice(index, 1)[0];
  };
  const create: NewSlice[] = [];
  const update: SliceObject[] = [];
  const left = wanted.filter((slice) => {
    const same = take(
      (each) => each.addressType === slice.addressType && deepEqual(each.ports ?? [], slice.ports ?? []),
    );
    if (same && !isSame(same, slice)) update.push(renewed(same, slice));
    return !same;
  });
  for (const slice of left) {
    const old = take(({ addressType }) => addressType === slice.addressType);
    if (old) update.push(renewed(old, slice));
    else create.push(slice);
  }
  return { create, update, remove: free, invalid, skipped };
}

function isSame(current: SliceObject, wanted: NewSlice): boolean {
  return (
    deepEqual(current.endpoints ?? [], wanted.endpoints ?? []) &&
    deepEqual(current.metadata.labels ?? {}, wanted.metadata?.labels ?? {}) &&
    deepEqual(current.metadata.annotations ?? {}, wanted.metadata?.annotations ?? {})
  );
}

function renewed(old: SliceObject, wanted: NewSlice): SliceObject {
  const { labels, annotations } = wanted.metadata ?? {};
  return {
    ...old,
    ports: wanted.ports,
    endpoints: wanted.endpoints,
    metadata: { ...old.metadata, labels, annotations },
  } as SliceObject;
}

function slicesOf(
  endpoints: EndpointsObject,
  { addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset,
): { slices: NewSlice[]; bad: number; cut: number } {
  const all = [
    ...addresses.map((address) => ({ address, ready: true })),
    ...notReadyAddresses.map((address) => ({ address, ready: false })),
  ];
  const valid = all.filter(({ address }) => isIP(address.ip) !== 0);
  const kept = valid.slice(0, mostPerSubset);
  const slices = ([4, 6] as const).flatMap((family): NewSlice[] => {
    const mine = kept.filter(({ address }) => isIP(address.ip) === family);
    if (mine.length === 0) return [];
    return [
      {
        metadata: sliceMetadata(endpoints),
        addressType: `IPv${family}`,
        ports: inOrder(
          ports.map(({ name = "", port, protocol = "TCP", appProtocol }) => ({
            name,
            port,
            protocol,
            ...(appProtocol === undefined ? {} : { appProtocol }),
          })),
        ),
        endpoints: mine.map(({ address, ready }) => endpointOf(address, ready)),
      },
    ];
  });
  return { slices, bad: all.length - valid.length, cut: all.length - kept.length };
}

function sliceMetadata(endpoints: EndpointsObject): NonNullable<NewSlice["metadata"]> {
  const { name, namespace, labels, annotations = {} } = endpoints.metadata;
  const copied = Object.entries(annotations).filter(
    ([key]) => key !== lastChangeAnnotation && key !== lastApplied,
  );
  return {
    generateName: podNamePrefix(name),
    namespace,
    labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirroringController },
    ...(copied.length > 0 ? { annotations: Object.fromEntries(copied) } : {}),
    ownerReferences: [controllerReference(endpoints, Endpoints)],
  };
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...omitEmpty({ hostname, nodeName }),
    ...(targetRef ? { targetRef } : {}),
  };
}
