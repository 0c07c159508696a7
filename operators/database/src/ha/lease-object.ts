/** The record in its Lease: who holds it in the spec, everything else in two annotations, one for each writer. */
import { parseKnownJson } from "./json.ts";
import type { LeaseRecord, Policy, Published, StoredRecord } from "./state.ts";

/** The Lease of a Database. Its bare name may be that of an application that has a leader of its own. */
export function leaseName(database: string): string {
  return `${database}-primary`;
}

/** On a Database's Lease: what the primary's agent publishes, as JSON. */
export const publishedAnnotation = "database.keelson.dev/published";
/** On a Database's Lease: what the operator demands of a failover, as JSON. */
export const policyAnnotation = "database.keelson.dev/policy";

/** The fields of a Lease that matter here. */
export interface LeaseObject {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<{ [name: string]: string }>;
  };
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseTransitions?: number | null;
    readonly renewTime?: string | null;
  };
}

export function readLease(object: unknown): StoredRecord {
  const { metadata = {}, spec = {} } = object as LeaseObject;
  const { annotations = {}, resourceVersion = "" } = metadata;
  const policy = annotations[policyAnnotation];
  if (policy === undefined) throw new Error("the Lease says nothing of the database yet");
  const [holder = "", holderUid = ""] = (spec.holderIdentity ?? "").split("_");
  const record: LeaseRecord = {
    holder,
    holderUid,
    epoch: spec.leaseTransitions ?? 0,
    renewTime: spec.renewTime ?? "",
    published: {
      quorums: [],
      ...(parseKnownJson(annotations[publishedAnnotation] ?? "{}") as Partial<Published>),
    },
    policy: parseKnownJson(policy) as Policy,
  };
  return { record, version: resourceVersion };
}

/** A merge patch that holds only for the version that was read. */
export function writtenLease(
  claim: Omit<LeaseRecord, "policy">,
  version: string,
): { readonly metadata: object; readonly spec: object } {
  const { holder, holderUid, epoch, renewTime, published } = claim;
  return {
    metadata: { resourceVersion: version, annotations: { [publishedAnnotation]: JSON.stringify(published) } },
    spec: {
      holderIdentity: holder === "" ? null : `${holder}_${holderUid}`,
      leaseTransitions: epoch,
      renewTime,
    },
  };
}
