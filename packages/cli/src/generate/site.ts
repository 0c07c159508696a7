/** Where an installation goes, and everything that may differ from another. */
import type { Project } from "../project.ts";
import type { Values } from "./values.ts";

/** One installation: real, or the places of a chart that stand for it. */
export interface Site {
  readonly namespace: string;
  /** The image as the pod names it. */
  readonly image: string;
  readonly values: Values;
  readonly labels: Readonly<Record<string, string>>;
}

export function labelsOf(name: string, { version }: Pick<Project, "version">): Record<string, string> {
  return { "app.kubernetes.io/name": name, "app.kubernetes.io/version": version };
}

/** What pods of the operator are found by: it never changes. */
export function selectorOf(name: string): Record<string, string> {
  return { "app.kubernetes.io/name": name };
}
