/** Metrics of databases and their instances, kept from pass to pass. */
import type { MetricFamily } from "keelson";
import type { DatabaseBackupObject } from "./api/backup.ts";
import type { DatabaseObject } from "./api/database.ts";
import { isReady, primaryOf } from "./decide/report.ts";
import type { InstanceView, Observed } from "./observe/observed.ts";

type Labels = Readonly<Record<string, string>>;
type Sample = MetricFamily["samples"][number];

/** Every metric of this operator: public names, on which dashboards and alerts are built. */
const metrics = {
  database_instances: ["gauge", "Instances that the spec asks for."],
  database_ready_instances: ["gauge", "Instances that serve."],
  database_condition: ["gauge", "1 when the condition is True, 0 when it is not."],
  database_epoch: ["gauge", "How often primaryship has changed hands."],
  database_failover_may_have_lost: ["gauge", "1 when the last failover may have lost commits."],
  database_failover_lost_bytes: [
    "gauge",
    "Log that the last failover lost, but for the primary's last second.",
  ],
  database_recoverable_timestamp_seconds: [
    "gauge",
    "Until when everything that was committed is in the archive.",
  ],
  database_backup_last_success_timestamp_seconds: ["gauge", "When the newest proven backup was taken."],
  database_backup_count: ["gauge", "Proven backups."],
  database_instance_ready: ["gauge", "1 while the instance serves."],
  database_instance_is_primary: ["gauge", "1 for the primary."],
  database_instance_timeline: ["gauge", "The timeline that the instance is on."],
  database_instance_lag_bytes: ["gauge", "How much of the primary's log is not on the instance's disk."],
  database_instance_size_bytes: ["gauge", "Size of all databases of the instance."],
  database_instance_connections: ["gauge", "Connections of clients to the instance."],
  database_instance_max_connections: ["gauge", "Connections that the instance takes."],
  database_instance_volume_bytes: ["gauge", "Size of the instance's volume."],
  database_instance_volume_free_bytes: ["gauge", "What is free of it."],
} as const satisfies Readonly<Record<string, readonly [MetricFamily["type"], string]>>;

export type MetricName = keyof typeof metrics;
export const metricNames = Object.keys(metrics) as MetricName[];

type Values = Partial<Record<MetricName, readonly Sample[]>>;

export class DatabaseMetrics {
  /** By Database. */
  readonly #values = new Map<string, Values>();

  /** Called in each pass. */
  record(
    observed: Observed,
    conditions: readonly { readonly type: string; readonly status: string }[],
    backups: readonly DatabaseBackupObject[],
  ): void {
    const { object, record, instances } = observed;
    const labels = labelsOf(object);
    const one = (value: number, more: Labels = {}): Sample => ({ labels: { ...labels, ...more }, value });
    const of = (value: (instance: InstanceView) => number | undefined) =>
      instances.flatMap((each) => {
        const number = value(each);
        return number === undefined ? [] : [one(number, { instance: each.name })];
      });
    const primary = primaryOf(observed);
    const lags = new Map(primary?.report?.standbys.map(({ name, lagBytes }) => [name, lagBytes]));
    const proven = backups.filter(({ status }) => status?.phase === "Done");
    const times = proven.map(({ status }) => Date.parse(status?.finishedAt ?? "")).filter(Number.isFinite);
    const recoverable = primary?.report?.recoverableUntil;
    this.#values.set(keyOf(object), {
      database_instances: [one(object.spec.instances)],
      database_ready_instances: [one(instances.filter(isReady).length)],
      database_condition: conditions.map(({ type, status }) =>
        one(status === "True" ? 1 : 0, { condition: type }),
      ),
      database_epoch: [one(record?.epoch ?? 0)],
      database_failover_may_have_lost: [one(record?.published.lastFailover?.mayHaveLost ? 1 : 0)],
      database_failover_lost_bytes: [one(record?.published.lastFailover?.lostBytes ?? 0)],
      database_recoverable_timestamp_seconds:
        recoverable === undefined ? [] : [one(Date.parse(recoverable) / 1_000)],
      database_backup_last_success_timestamp_seconds:
        times.length === 0 ? [] : [one(Math.max(...times) / 1_000)],
      database_backup_count: [one(proven.length)],
      database_instance_ready: of((each) => (isReady(each) ? 1 : 0)),
      database_instance_is_primary: of(({ name }) => (name === primary?.name ? 1 : 0)),
      database_instance_timeline: of(({ report }) => report?.timeline),
      database_instance_lag_bytes: of(({ name }) => {
        const lag = lags.get(name);
        return lag === undefined ? undefined : Math.max(0, lag);
      }),
      database_instance_size_bytes: of(({ report }) => (report?.sizeBytes ? report.sizeBytes : undefined)),
      database_instance_connections: of(({ report }) => report?.connections),
      database_instance_max_connections: of(({ report }) => report?.maxConnections),
      database_instance_volume_bytes: of(({ report }) => report?.volume?.sizeBytes),
      database_instance_volume_free_bytes: of(({ report }) => report?.volume?.freeBytes),
    });
  }

  /** Forgets a Database that is deleted. */
  forget(object: DatabaseObject): void {
    this.#values.delete(keyOf(object));
  }

  families(): MetricFamily[] {
    return metricNames.map((name) => {
      const [type, help] = metrics[name];
      const samples = [...this.#values.values()].flatMap((values) => values[name] ?? []);
      return { name, help, type, samples };
    });
  }
}

function labelsOf({ metadata }: DatabaseObject): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? "default", name: metadata.name };
}

function keyOf({ metadata }: DatabaseObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
