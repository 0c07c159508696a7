/** Whether an API server takes the manifests, and the pods that come of them, under the restricted profile. */
import { apiServer } from "@keelson/apiserver";
import { createClient } from "@keelson/client";
import { Deployment, Namespace, Pod } from "@keelson/core/kinds";
import { applyManifests } from "../deploy/apply.ts";
import { CliError } from "../errors.ts";
import type { Manifest } from "../generate/manifests.ts";
import { VALUES_FILE } from "../generate/values.ts";
import type { Finding } from "./finding.ts";

/** Applies everything to an API server of this process; nothing leaves it. */
export async function lintManifests(manifests: readonly Manifest[]): Promise<Finding[]> {
  await using server = await apiServer();
  const client = createClient({ http: server.http });
  const findings: Finding[] = [];
  const namespaces = new Set(manifests.flatMap(({ metadata }) => metadata.namespace ?? []));
  for (const name of namespaces) {
    if (!manifests.some(({ kind, metadata }) => kind === "Namespace" && metadata.name === name)) {
      await client.kind(Namespace).create({ metadata: { name } });
    }
  }
  // Its CRD is the Prometheus operator's.
  for (const manifest of manifests.filter(({ kind }) => kind !== "ServiceMonitor")) {
    try {
      await applyManifests(client, [manifest]);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      findings.push({
        ...{ rule: "rejected-manifest", severity: "error", message: error.message, file: VALUES_FILE },
        fix: "correct the value or the declaration that it comes from",
      });
    }
  }
  for (const manifest of manifests) {
    if (manifest.kind === Deployment.kind) findings.push(...(await lintPod(client, manifest)));
  }
  return findings;
}

/** The pod of the Deployment, as the server sees it. */
async function lintPod(client: ReturnType<typeof createClient>, manifest: Manifest): Promise<Finding[]> {
  const { spec } = manifest as Manifest & { spec: { template: { metadata: object; spec: object } } };
  const { namespace, name } = manifest.metadata;
  const pod = {
    metadata: { ...spec.template.metadata, name, namespace },
    spec: { ...spec.template.spec, priorityClassName: undefined },
  };
  try {
    await client.kind(Pod).create(pod as never, { dryRun: true });
    return [];
  } catch (error) {
    return [
      {
        ...{ rule: "pod-security", severity: "error", file: VALUES_FILE },
        message: `the operator's pod is refused: ${error instanceof Error ? error.message : String(error)}`,
        fix: "remove what the restricted profile forbids from the values: host paths, host ports, privileges",
      },
    ];
  }
}
