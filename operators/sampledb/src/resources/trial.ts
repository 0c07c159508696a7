/** A pod as the servers are to be, on a volume of its own: it shows whether what the spec asks for can start. */
import type { Desired } from "keelson";
import type { ConfigMap, Pod } from "keelson/kinds";
import { labels } from "../api/names.ts";
import type { Spec } from "../api/sampledb.ts";
import { type DatabaseName, objectNames } from "./names.ts";
import { redisConf } from "./settings.ts";
import { startScript } from "./start-script.ts";
import { podTemplate, templateHash } from "./stateful-set.ts";

/** No Service and no StatefulSet selects it. */
function trialLabels({ name }: DatabaseName): Record<string, string> {
  return { [labels.name]: "sampledb-trial", [labels.instance]: name };
}

export function trialPod(database: DatabaseName, spec: Spec, version: string): Desired<typeof Pod> {
  const template = podTemplate(database, spec, version);
  const { trial } = objectNames(database);
  const volumes = template.spec.volumes.map((volume) =>
    volume.name === "config" ? { name: "config", configMap: { name: trial, defaultMode: 0o444 } } : volume,
  );
  return {
    metadata: {
      name: `${trial}-${templateHash(spec, version)}`,
      labels: { ...spec.pod.labels, ...trialLabels(database) },
      annotations: template.metadata.annotations,
    },
    spec: {
      ...template.spec,
      terminationGracePeriodSeconds: 1,
      volumes: [...volumes, { name: "data", emptyDir: {} }],
    },
  };
}

/** What the trial starts with; servers get it when the trial has shown that it works. */
export function trialConfig(database: DatabaseName, spec: Spec): Desired<typeof ConfigMap> {
  return {
    metadata: { name: objectNames(database).trial, labels: trialLabels(database) },
    data: { "redis.conf": redisConf(spec), "start.sh": startScript },
  };
}
