/** Replication controllers and pod templates. */
import {
  deepEqual,
  labelSelectorFromLabels,
  validateDns1123Label,
  validateDns1123Subdomain,
} from "@keelson/core";
import { validateGenerateName } from "@keelson/core/internal";
import type { PodTemplate, PodTemplateSpec, ReplicationController } from "@keelson/core/kinds";
import type { Strategy } from "../../contracts/strategy.ts";
import type { Errors } from "../checks/errors.ts";
import { checking, checkingUpdate, checkNotNegative, isEmpty } from "../checks/strategies.ts";
import { checkLastingTemplate, checkSelects, checkTemplate, templateWarnings } from "./templates.ts";

function checkController(
  controller: ReplicationController,
  old: ReplicationController | undefined,
  errors: Errors,
) {
  const spec = controller.spec ?? {};
  checkNotNegative("spec.minReadySeconds", spec.minReadySeconds, errors);
  if (isEmpty(spec.selector)) errors.required("spec.selector");
  if (spec.replicas === undefined) errors.required("spec.replicas");
  else checkNotNegative("spec.replicas", spec.replicas, errors);
  const { template } = spec;
  if (!template) {
    errors.required("spec.template");
    return;
  }
  if (!isEmpty(spec.selector))
    checkSelects("spec.template", labelSelectorFromLabels(spec.selector ?? {}), template, errors);
  checkTemplate("spec.template", template, old?.spec?.template, errors);
  checkLastingTemplate("spec.template", template, "ReplicationController", errors);
}

export function checkReplicaCounts(
  status: {
    replicas?: number;
    fullyLabeledReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    observedGeneration?: number;
    terminatingReplicas?: number;
  },
  errors: Errors,
): void {
  const fields = [
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
  ] as const;
  for (const field of fields) checkNotNegative(`status.${field}`, status[field], errors);
  checkNotNegative("status.terminatingReplicas", status.terminatingReplicas, errors);
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  for (const field of ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] as const) {
    const count = status[field] ?? 0;
    if (count > replicas) errors.invalid(`status.${field}`, count, "cannot be greater than status.replicas");
  }
  if (availableReplicas > readyReplicas)
    errors.invalid("status.availableReplicas", availableReplicas, "cannot be greater than readyReplicas");
}

export function hostNameWarning(name: string): string[] {
  const problems = validateDns1123Label(name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(" ")}]`,
  ];
}

export const replicationControllers: Strategy = {
  validateName: (name, prefix) => {
    const problems = prefix
      ? validateGenerateName(name, validateDns1123Subdomain)
      : validateDns1123Subdomain(name);
    return problems.map((problem) =>
      problem.replace("no more than 253 characters", "no more than 253 bytes"),
    );
  },
  validate: checking<ReplicationController>((controller, errors) =>
    checkController(controller, undefined, errors),
  ),
  validateUpdate: checkingUpdate<ReplicationController>((controller, old, errors) =>
    checkController(controller, old, errors),
  ),
  warningsOnCreate: (object) => {
    const { template } = (object as unknown as ReplicationController).spec ?? {};
    return [
      ...hostNameWarning(object.metadata.name),
      ...(template ? templateWarnings("spec.template", template) : []),
    ];
  },
  warningsOnUpdate: (object, old) => {
    // The real server warns of the template that is given up, not of the new one.
    const { template } = (old as unknown as ReplicationController).spec ?? {};
    if (object.metadata.generation === old.metadata.generation || !template) return [];
    return templateWarnings("spec.template", template);
  },
  subresources: {
    status: {
      validateUpdate: checkingUpdate<ReplicationController>((controller, _old, errors) =>
        checkReplicaCounts(controller.status ?? {}, errors),
      ),
    },
  },
};

export const podTemplates: Strategy = {
  validate: checking<PodTemplate>((object, errors) =>
    checkTemplate("template", object.template as PodTemplateSpec, undefined, errors),
  ),
  validateUpdate: checkingUpdate<PodTemplate>((object, old, errors) =>
    checkTemplate("template", object.template as PodTemplateSpec, old.template, errors),
  ),
  generation: (object, old) => !deepEqual(object.template, old.template),
  prepareForCreate(draft) {
    draft.metadata.generation = 1;
  },
  warningsOnCreate: (object) =>
    templateWarnings("template", (object as unknown as PodTemplate).template as PodTemplateSpec),
  warningsOnUpdate: (object, old) =>
    object.metadata.generation === old.metadata.generation
      ? []
      : templateWarnings("template", (object as unknown as PodTemplate).template as PodTemplateSpec),
};
