/** What a server says of itself, from the text of INFO. Pure. */

/** A replica as its primary sees it. */
export interface ConnectedReplica {
  readonly host: string;
  readonly port: number;
  readonly online: boolean;
  readonly offset: bigint;
  readonly lagSeconds: number;
}

export interface ServerFacts {
  readonly version: string;
  /** Of this process: another one has another. */
  readonly runId: string;
  readonly role: "primary" | "replica";
  readonly replicationId: string;
  /** Of the primary before this one; writes up to `secondOffset` are the same. */
  readonly secondReplicationId: string;
  readonly secondOffset: bigint;
  readonly offset: bigint;
  readonly loading: boolean;
  /** Whom a replica follows. */
  readonly upstream: { readonly host: string; readonly port: number } | undefined;
  readonly linkUp: boolean;
  /** How long a replica has heard nothing from its primary; undefined without a link. */
  readonly silentSeconds: number | undefined;
  readonly syncing: boolean;
  readonly replicas: readonly ConnectedReplica[];
  readonly failingOver: boolean;
  readonly keys: number;
  /** With fewer replicas than this it takes no writes. */
  readonly guard: number;
  /** The identity of the volume that it has started on; undefined when nobody had given it one. */
  readonly volume: string | undefined;
  readonly databases: number;
  /**
   * It writes its append-only file from its memory, or is about to. After a full copy from a primary its volume holds
   * what it had before until this ends: a process that is killed meanwhile starts again with that.
   */
  readonly rewriting: boolean;
  /**
   * It could not write to its append-only file, and tries again every second. Snapshots persist nothing here: one that a
   * person took and that failed says nothing, and nobody would take the next.
   */
  readonly persistenceFailed: boolean;
}

export function parseInfo(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0 && !line.startsWith("#")) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

export function factsFrom(
  text: string,
  settings: Pick<ServerFacts, "guard" | "volume" | "databases">,
): ServerFacts {
  const info = parseInfo(text);
  const isReplica = info.get("role") === "slave";
  const host = info.get("master_host");
  const silent = Number(info.get("master_last_io_seconds_ago") ?? -1);
  const linkUp = info.get("master_link_status") === "up";
  return {
    version: info.get("redis_version") ?? "",
    runId: info.get("run_id") ?? "",
    role: isReplica ? "replica" : "primary",
    replicationId: info.get("master_replid") ?? "",
    secondReplicationId: info.get("master_replid2") ?? "",
    secondOffset: BigInt(info.get("second_repl_offset") ?? -1),
    // A replica that has lost its primary counts on in `slave_repl_offset`; `master_repl_offset` is what it can serve.
    offset: BigInt((isReplica ? info.get("slave_repl_offset") : info.get("master_repl_offset")) ?? 0),
    loading: info.get("loading") === "1",
    upstream:
      isReplica && host !== undefined ? { host, port: Number(info.get("master_port") ?? 0) } : undefined,
    linkUp,
    silentSeconds: linkUp && silent >= 0 ? silent : undefined,
    syncing: info.get("master_sync_in_progress") === "1",
    replicas: connectedReplicas(info),
    failingOver: (info.get("master_failover_state") ?? "no-failover") !== "no-failover",
    keys: keyCount(info),
    ...settings,
    rewriting: info.get("aof_rewrite_in_progress") === "1" || info.get("aof_rewrite_scheduled") === "1",
    persistenceFailed: info.get("aof_last_write_status") === "err",
  };
}

function connectedReplicas(info: ReadonlyMap<string, string>): ConnectedReplica[] {
  return [...info].flatMap(([name, value]) => {
    if (!/^slave\d+$/.test(name)) return [];
    const parts = new Map(value.split(",").map((part) => part.split("=", 2) as [string, string]));
    return [
      {
        host: parts.get("ip") ?? "",
        port: Number(parts.get("port") ?? 0),
        online: parts.get("state") === "online",
        offset: BigInt(parts.get("offset") ?? 0),
        lagSeconds: Number(parts.get("lag") ?? 0),
      },
    ];
  });
}

/** Over all databases of the keyspace. */
function keyCount(info: ReadonlyMap<string, string>): number {
  return [...info].reduce((sum, [name, value]) => {
    if (!/^db\d+$/.test(name)) return sum;
    return sum + Number(/keys=(\d+)/.exec(value)?.[1] ?? 0);
  }, 0);
}
