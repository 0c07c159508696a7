/** Metrics of an operator's own, in the text that Prometheus reads. */

/** One metric of an operator's own, with its values at the moment when someone asks for them. */
export interface MetricFamily {
  /** As Prometheus wants it: `etcd_cluster_ready_members`. */
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter";
  readonly samples: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

/** As Prometheus reads them. */
export function metricText(families: readonly MetricFamily[]): string {
  return families
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ labels, value }) => {
        const pairs = Object.entries(labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
        return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
      }),
      "",
    ])
    .join("\n");
}
