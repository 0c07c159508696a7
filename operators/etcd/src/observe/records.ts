/** Updates the records from what was seen: ids, phases, volumes, and members that only etcd or a claim remembers. */
import type { Member } from "../api/cluster.ts";
import { type EtcdMember, hex, type MemberList } from "../engine/etcd.ts";
import { type ClusterName, memberOfPeerUrl, ordinalOf } from "../resources/names.ts";
import type { ClaimView } from "./observed.ts";

export interface RecordSources {
  readonly cluster: ClusterName;
  readonly records: readonly Member[];
  readonly claims: ReadonlyMap<string, ClaimView>;
  readonly list: MemberList | undefined;
  /** Digests of the templates that there are: the one in use first, then the one being rolled out. */
  readonly templates: readonly string[];
}

export function refreshRecords(sources: RecordSources): Member[] {
  const known = sources.records.map((record) => refreshed(record, sources));
  const names = new Set(known.map(({ name }) => name));
  return [...known, ...remembered(names, sources)];
}

/** Of etcd's list, the entry of a record: by id once it has one, by peer URL before that. */
export function entryOf(
  cluster: ClusterName,
  record: Member,
  list: MemberList | undefined,
): EtcdMember | undefined {
  return list?.members.find(({ id, peerUrls }) =>
    record.id === undefined
      ? peerUrls.some((url) => memberOfPeerUrl(cluster, url) === record.name)
      : hex(id) === record.id,
  );
}

function refreshed(record: Member, { cluster, claims, list, templates }: RecordSources): Member {
  const claim = claims.get(record.name);
  const entry = entryOf(cluster, record, list);
  const next: Member = { ...record };
  // Until a member has an id it has no data that could be lost: any volume is fine.
  if (claim && (record.claimUid === undefined || record.id === undefined)) next.claimUid = claim.uid;
  const [template] = templates;
  if (template !== undefined && !templates.includes(record.template ?? "")) next.template = template;
  if (record.phase === "Seed") return next;
  if (entry) {
    next.id = hex(entry.id);
    if (record.phase !== "Leaving") next.phase = entry.learner ? "Learner" : "Voter";
  } else if (list && record.id !== undefined) {
    // Stored: when the quorum is lost after this, nobody says so any more, and the others must not wait for its vote.
    next.removed = true;
    if (record.phase !== "Leaving") next.message = "etcd no longer counts it among its members";
    next.phase = "Leaving";
  }
  return next;
}

/**
 * Members without a record that etcd or a claim knows: the status was lost, or the cluster was deleted with
 * its volumes kept and made again.
 */
function remembered(names: ReadonlySet<string>, sources: RecordSources): Member[] {
  const { cluster, claims, list } = sources;
  const [template] = sources.templates;
  const found = new Map<string, Member>();
  const common = template === undefined ? {} : { template };
  for (const entry of list?.members ?? []) {
    const name = entry.peerUrls
      .map((url) => memberOfPeerUrl(cluster, url))
      .find((each) => each !== undefined);
    if (name === undefined || names.has(name)) continue;
    const claimUid = claims.get(name)?.uid;
    found.set(name, {
      name,
      id: hex(entry.id),
      phase: entry.learner ? "Learner" : "Voter",
      ...(claimUid === undefined ? {} : { claimUid }),
      ...common,
    });
  }
  for (const [name, claim] of claims) {
    if (
      names.has(name) ||
      found.has(name) ||
      claim.fenced ||
      claim.deleting ||
      claim.memberId === undefined
    ) {
      continue;
    }
    // When there is a list, etcd decides: the claim of a removed member is a leftover, to be deleted.
    const phase = list ? "Leaving" : "Voter";
    found.set(name, { name, id: claim.memberId, phase, claimUid: claim.uid, ...common });
  }
  const order = ({ name }: Member) => ordinalOf(cluster, name) ?? 0;
  return [...found.values()].sort((a, b) => order(a) - order(b));
}

/** The cluster id that claims remember when the status does not. */
export function rememberedClusterId(claims: ReadonlyMap<string, ClaimView>): string | undefined {
  return [...claims.values()].find(({ clusterId, fenced }) => clusterId !== undefined && !fenced)?.clusterId;
}

/** The next number for a name: above every number that anything still carries. */
export function nextOrdinal(
  cluster: ClusterName,
  remembered: number | undefined,
  names: Iterable<string>,
): number {
  const used = [...names].map((name) => ordinalOf(cluster, name) ?? -1);
  return Math.max(remembered ?? 0, ...used.map((ordinal) => ordinal + 1));
}
