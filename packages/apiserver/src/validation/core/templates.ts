/** Pod templates inside workloads. */
import {
  type LabelSelector as Compiled,
  CoreError,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
} from "@keelson/core";
import type { PodSpec, PodTemplateSpec } from "@keelson/core/kinds";
import { validateAnnotations } from "../../registry/metadata.ts";
import type { Errors } from "../checks/errors.ts";
import { checkLabels } from "../checks/selectors.ts";
import { checkPodAnnotations } from "./annotations.ts";
import { checkPodSpec, podRules } from "./pod-spec.ts";
import { podWarnings } from "./warnings.ts";

export function checkTemplate(
  path: string,
  template: PodTemplateSpec,
  old: PodTemplateSpec | undefined,
  errors: Errors,
): void {
  const spec = template.spec as PodSpec;
  const annotations = template.metadata?.annotations;
  checkLabels(`${path}.labels`, template.metadata?.labels, errors);
  if (annotations) errors.add(validateAnnotations(annotations, `${path}.annotations`));
  checkPodAnnotations(`${path}.annotations`, annotations, spec, errors);
  checkPodSpec(`${path}.spec`, spec, undefined, podRules(false, old?.spec), errors);
  if (spec.ephemeralContainers?.length)
    errors.forbidden(`${path}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template");
}

/** Templates of what runs for ever. */
export function checkLastingTemplate(
  path: string,
  template: PodTemplateSpec,
  kind: string,
  errors: Errors,
): void {
  const { restartPolicy = "", activeDeadlineSeconds } = template.spec as PodSpec;
  if (restartPolicy !== "Always")
    errors.notSupported(`${path}.spec.restartPolicy`, restartPolicy, ["Always"]);
  if (activeDeadlineSeconds !== undefined)
    errors.forbidden(
      `${path}.spec.activeDeadlineSeconds`,
      `activeDeadlineSeconds in ${kind} is not Supported`,
    );
}

/** Undefined when the selector cannot be read. */
export function compileSelector(selector: unknown): Compiled | undefined {
  try {
    return labelSelectorFrom(selector as LabelSelectorObject);
  } catch (error) {
    if (error instanceof CoreError) return undefined;
    throw error;
  }
}

export function checkSelects(
  path: string,
  selector: Compiled,
  template: PodTemplateSpec,
  errors: Errors,
): void {
  const labels = template.metadata?.labels;
  if (!matchesLabels(selector, labels ?? {}))
    errors.invalid(`${path}.metadata.labels`, labels ?? null, "`selector` does not match template `labels`");
}

export function templateWarnings(path: string, template: PodTemplateSpec): string[] {
  return podWarnings(path, template.spec as PodSpec, template.metadata ?? {});
}
