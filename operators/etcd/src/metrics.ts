/** Metrics of clusters and backups, kept from pass to pass. */
import type { MetricFamily } from "keelson";
import type { EtcdBackupScheduleObject } from "./api/backup.ts";
import type { EtcdClusterObject } from "./api/cluster.ts";
import type { ConditionReport } from "./decide/report.ts";
import type { Observed } from "./observe/observed.ts";

type Labels = Readonly<Record<string, string>>;
type Sample = MetricFamily["samples"][number];

/** Every metric of this operator: public names, on which dashboards and alerts are built. */
const metrics = {
  etcd_cluster_size: ["gauge", "Voting members that the spec asks for."],
  etcd_cluster_ready_members: ["gauge", "Voting members that serve."],
  etcd_cluster_members: ["gauge", "Members by phase."],
  etcd_cluster_condition: ["gauge", "1 when the condition is True, 0 when it is not."],
  etcd_cluster_alarms: ["gauge", "Alarms that etcd has raised, by type."],
  etcd_cluster_revision: ["gauge", "The newest revision that a member has."],
  etcd_cluster_certificate_expiry_timestamp_seconds: ["gauge", "When the first certificate of a use ends."],
  etcd_member_ready: ["gauge", "1 while the member serves."],
  etcd_member_is_leader: ["gauge", "1 for the leader."],
  etcd_member_lag_entries: ["gauge", "Raft entries that the member is behind the leader."],
  etcd_member_db_size_bytes: ["gauge", "Size of the member's database file."],
  etcd_member_db_size_in_use_bytes: [
    "gauge",
    "What of it is in use; the rest comes back by defragmentation.",
  ],
  etcd_operator_actions_total: ["counter", "What the operator has done to clusters, by action."],
  etcd_backup_last_success_timestamp_seconds: ["gauge", "When a schedule's newest proven backup was taken."],
  etcd_backup_count: ["gauge", "Proven backups that a schedule holds."],
} as const satisfies Readonly<Record<string, readonly [MetricFamily["type"], string]>>;

export type MetricName = keyof typeof metrics;
export const metricNames = Object.keys(metrics) as MetricName[];

type Values = Partial<Record<MetricName, readonly Sample[]>>;

export class EtcdMetrics {
  /** By cluster. */
  readonly #values = new Map<string, Values>();
  readonly #actions = new Map<string, { labels: Labels; value: number }>();

  /** Called after each reconcile of a cluster. */
  record(
    object: EtcdClusterObject,
    o: Observed,
    reports: readonly ConditionReport[],
    schedules: readonly EtcdBackupScheduleObject[],
  ): void {
    const labels = labelsOf(object);
    const one = (value: number, more: Labels = {}): Sample => ({ labels: { ...labels, ...more }, value });
    const phases = Map.groupBy(o.members, ({ record }) => record.phase);
    const alarms = Map.groupBy(o.alarms, ({ type }) => type);
    const statuses = o.members.flatMap(({ status }) => (status ? [status] : []));
    const of = (value: (member: Observed["members"][number]) => number | undefined) =>
      o.members.flatMap((member) => {
        const number = value(member);
        return number === undefined ? [] : [one(number, { member: member.record.name })];
      });
    const leaderIndex = statuses.find(({ leader, memberId }) => leader === memberId)?.raftIndex;
    this.#values.set(keyOf(object), {
      etcd_cluster_size: [one(o.spec.size)],
      etcd_cluster_ready_members: [one(of(isServing).filter(({ value }) => value === 1).length)],
      etcd_cluster_members: [...phases].map(([phase, members]) => one(members.length, { phase })),
      etcd_cluster_condition: reports.map(({ type, status }) =>
        one(status === "True" ? 1 : 0, { condition: type }),
      ),
      etcd_cluster_alarms: (["NOSPACE", "CORRUPT"] as const).map((type) =>
        one(alarms.get(type)?.length ?? 0, { type }),
      ),
      etcd_cluster_revision: [one(Math.max(0, ...statuses.map(({ revision }) => Number(revision))))],
      etcd_cluster_certificate_expiry_timestamp_seconds: (["peer", "client"] as const).flatMap((use) => {
        const facts = o.certificates[use];
        return facts ? [one(facts.expiresMs / 1_000, { use })] : [];
      }),
      etcd_member_ready: of(isServing),
      etcd_member_is_leader: of(({ status }) => (status && status.leader === status.memberId ? 1 : 0)),
      etcd_member_lag_entries: of(({ status }) =>
        status && leaderIndex !== undefined
          ? Math.max(0, Number(leaderIndex - status.appliedIndex))
          : undefined,
      ),
      etcd_member_db_size_bytes: of(({ status }) => status && Number(status.dbSizeBytes)),
      etcd_member_db_size_in_use_bytes: of(({ status }) => status && Number(status.dbSizeInUseBytes)),
      etcd_backup_count: schedules.map(({ metadata, status }) =>
        one(status?.backups ?? 0, { schedule: metadata.name }),
      ),
      etcd_backup_last_success_timestamp_seconds: schedules.flatMap(({ metadata, status }) =>
        status?.lastSuccessful === undefined
          ? []
          : [one(Date.parse(status.lastSuccessful) / 1_000, { schedule: metadata.name })],
      ),
    });
  }

  /** Counts an action. */
  countAction(object: EtcdClusterObject, action: string): void {
    const labels = { ...labelsOf(object), action };
    const id = JSON.stringify(labels);
    this.#actions.set(id, { labels, value: (this.#actions.get(id)?.value ?? 0) + 1 });
  }

  /** Forgets a deleted cluster. */
  forget(object: EtcdClusterObject): void {
    this.#values.delete(keyOf(object));
  }

  families(): MetricFamily[] {
    return metricNames.map((name) => {
      const [type, help] = metrics[name];
      const samples =
        name === "etcd_operator_actions_total"
          ? [...this.#actions.values()]
          : [...this.#values.values()].flatMap((values) => values[name] ?? []);
      return { name, help, type, samples };
    });
  }
}

function labelsOf({ metadata }: EtcdClusterObject): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "default", name: metadata.name };
}

function keyOf({ metadata }: EtcdClusterObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

function isServing({ pod, status }: Observed["members"][number]): number {
  return pod?.ready && !pod.deleting && status?.leader !== undefined ? 1 : 0;
}
