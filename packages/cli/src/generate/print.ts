/** Manifests for `kubectl apply -f -`. */
import type { OutputFormat } from "../output.ts";
import { yamlOf } from "./yaml-text.ts";

export function printManifests(manifests: readonly unknown[], format: OutputFormat): string {
  if (format === "yaml") return yamlOf(...manifests);
  return `${JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }, undefined, 2)}\n`;
}
