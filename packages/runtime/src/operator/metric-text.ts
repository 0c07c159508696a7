/** Metrics of our own and of an operator's, in the text that Prometheus reads. */

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

/** A metric whose samples have names of their own, as those of a histogram do. */
export interface HistogramFamily extends Omit<MetricFamily, "type" | "samples"> {
  readonly type: "histogram";
  readonly samples: readonly (MetricFamily["samples"][number] & {
    readonly suffix: "_bucket" | "_sum" | "_count";
  })[];
}

/** As Prometheus reads them. */
export function metricText(families: readonly (MetricFamily | HistogramFamily)[]): string {
  return families
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
      `# TYPE ${name} ${type}`,
      ...samples.map((sample) => {
        const pairs = Object.entries(sample.labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
        const suffix = "suffix" in sample ? sample.suffix : "";
        return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${sample.value}`;
      }),
      "",
    ])
    .join("\n");
}
