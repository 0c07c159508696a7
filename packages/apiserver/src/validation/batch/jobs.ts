/** Jobs and cron jobs. */
import { deepEqual, matchesLabels, validateDns1123Label, validateQualifiedName } from "@keelson/core";
import { scheduleProblem, timeZoneProblems } from "@keelson/core/internal";
import type {
  CronJob,
  CronJobSpec,
  Job,
  JobSpec,
  JobTemplateSpec,
  PodFailurePolicyRule,
  PodSpec,
  PodTemplateSpec,
} from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import { type Errors, inGo } from "../checks/errors.ts";
import { checkDomainPath } from "../checks/references.ts";
import { checkSelector, type Selector } from "../checks/selectors.ts";
import { checkImmutable, checking, checkingUpdate, checkNotNegative } from "../checks/strategies.ts";
import { hostNameWarning } from "../core/replication-controllers.ts";
import { checkTemplate, compileSelector, templateWarnings } from "../core/templates.ts";
import { countIndexes } from "./indexes.ts";
import { checkJobStatus, mayChangeTemplate } from "./job-status.ts";

const nameLabels = ["job-name", "batch.kubernetes.io/job-name"];
const uidLabels = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const uidLabel = "batch.kubernetes.io/controller-uid";

/** Pods of a job are found by its uid, which no other job has. */
function generateSelector(object: ApiObject): void {
  const spec = (object as unknown as Job).spec as JobSpec;
  if (spec.manualSelector) return;
  const template = spec.template as PodTemplateSpec;
  const shared =
    template.metadata?.labels !== undefined && template.metadata.labels === object.metadata.labels;
  const labels = { ...template.metadata?.labels };
  for (const name of nameLabels) labels[name] ??= object.metadata.name ?? "";
  for (const name of uidLabels) labels[name] ??= object.metadata.uid ?? "";
  template.metadata = { ...template.metadata, labels };
  if (shared) object.metadata.labels = { ...labels };
  spec.selector ??= {};
  spec.selector.matchLabels = { [uidLabel]: object.metadata.uid ?? "", ...spec.selector.matchLabels };
}

function checkGeneratedSelector(job: Job, prefixed: boolean, errors: Errors): void {
  const spec = job.spec as JobSpec;
  if (spec.manualSelector || !spec.selector) return;
  const { uid = "", name = "" } = job.metadata ?? {};
  const labels = spec.template?.metadata?.labels ?? {};
  const expected: Record<string, string> = {};
  const has = (label: string, value: string) => {
    const at = `spec.template.metadata.labels[${label}]`;
    expected[label] = value;
    if (labels[label] === undefined) errors.required(at, `must be '${value}'`);
    else if (labels[label] !== value) errors.invalid(at, labels, `must be '${value}'`);
  };
  has("controller-uid", uid);
  has("job-name", name);
  if (prefixed) {
    has("batch.kubernetes.io/controller-uid", uid);
    has("batch.kubernetes.io/job-name", name);
  }
  const selector = compileSelector(spec.selector);
  if (selector && !matchesLabels(selector, expected))
    errors.invalid("spec.selector", spec.selector, "`selector` not auto-generated");
}

function checkJob(job: Job, old: Job | undefined, prefixed: boolean, errors: Errors): void {
  const spec = job.spec as JobSpec;
  checkGeneratedSelector(job, prefixed, errors);
  checkSelectedSpec(spec, old?.spec, errors);
  if (spec.completionMode !== "Indexed" || !spec.completions || spec.completions <= 0) return;
  const name = job.metadata?.name ?? "";
  const host = `${name}-${spec.completions - 1}`;
  if (validateDns1123Label(host).length > 0)
    errors.invalid("metadata.name", name, `will not able to create pod with invalid DNS label: ${host}`);
}

function checkSelectedSpec(spec: JobSpec, old: JobSpec | undefined, errors: Errors): void {
  checkSpec("spec", spec, old, errors);
  const selector = spec.selector as Selector | undefined;
  if (!selector) errors.required("spec.selector");
  else checkSelector("spec.selector", selector, errors);
  const compiled = compileSelector(selector);
  const labels = spec.template?.metadata?.labels;
  if (compiled && !matchesLabels(compiled, labels ?? {}))
    errors.invalid(
      "spec.template.metadata.labels",
      labels ?? null,
      "`selector` does not match template `labels`",
    );
}

const limits = { parallelism: 100_000, failedIndexes: 100_000, completions: 100_000, high: 10_000 };
const replacementPolicies = ["Failed", "TerminatingOrFailed"];

function checkSpec(path: string, spec: JobSpec, old: JobSpec | undefined, errors: Errors): void {
  for (const field of [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
  ] as const)
    checkNotNegative(`${path}.${field}`, spec[field], errors);
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    errors.required(`${path}.backoffLimitPerIndex`, "when maxFailedIndexes is specified");
  if (spec.managedBy !== undefined) {
    checkDomainPath(`${path}.managedBy`, spec.managedBy, errors);
    if (spec.managedBy.length > 63) errors.tooLong(`${path}.managedBy`, 63);
  }
  checkCompletionMode(path, spec, errors);
  if (spec.podFailurePolicy) checkFailurePolicy(`${path}.podFailurePolicy`, spec, errors);
  if (spec.successPolicy) {
    if (spec.completionMode !== "Indexed")
      errors.invalid(
        `${path}.successPolicy`,
        {
          Rules: (spec.successPolicy.rules ?? []).map((rule) =>
            inGo(rule, "succeededIndexes", "succeededCount"),
          ),
        },
        "requires indexed completion mode",
      );
    else checkSuccessPolicy(`${path}.successPolicy`, spec, errors);
  }
  const replacement = spec.podReplacementPolicy;
  if (replacement !== undefined) {
    const supported = spec.podFailurePolicy ? ["Failed"] : replacementPolicies;
    if (!supported.includes(replacement))
      errors.notSupported(`${path}.podReplacementPolicy`, replacement, supported);
  }
  const template = spec.template as PodTemplateSpec;
  checkTemplate(`${path}.template`, template, old?.template, errors);
  const restart = (template.spec as PodSpec).restartPolicy ?? "";
  const at = `${path}.template.spec.restartPolicy`;
  if (restart === "Always" || restart === "") errors.required(at, 'valid values: "OnFailure", "Never"');
  else if (restart !== "OnFailure" && restart !== "Never")
    errors.notSupported(at, restart, ["OnFailure", "Never"]);
  else if (spec.podFailurePolicy && restart !== "Never")
    errors.invalid(at, restart, 'only "Never" is supported when podFailurePolicy is specified');
}

function checkCompletionMode(path: string, spec: JobSpec, errors: Errors): void {
  const {
    completionMode: mode,
    completions,
    parallelism,
    maxFailedIndexes: failed,
    backoffLimitPerIndex,
  } = spec;
  if (mode !== undefined && mode !== "NonIndexed" && mode !== "Indexed")
    errors.notSupported(`${path}.completionMode`, mode, ["NonIndexed", "Indexed"]);
  if (mode === "Indexed") {
    if (completions === undefined) errors.required(`${path}.completions`, "when completion mode is Indexed");
    if (parallelism !== undefined && parallelism > limits.parallelism)
      errors.invalid(
        `${path}.parallelism`,
        parallelism,
        `must be less than or equal to ${limits.parallelism} when completion mode is Indexed`,
      );
    if (completions !== undefined && failed !== undefined && failed > completions)
      errors.invalid(`${path}.maxFailedIndexes`, failed, "must be less than or equal to completions");
    if (failed !== undefined && failed > limits.failedIndexes)
      errors.invalid(
        `${path}.maxFailedIndexes`,
        failed,
        `must be less than or equal to ${limits.failedIndexes}`,
      );
    if (completions !== undefined && completions > limits.completions && backoffLimitPerIndex !== undefined) {
      const when = `when completions are above ${limits.completions} and used with backoff limit per index`;
      if (failed === undefined)
        errors.required(
          `${path}.maxFailedIndexes`,
          `must be specified when completions is above ${limits.completions}`,
        );
      if (parallelism !== undefined && parallelism > limits.high)
        errors.invalid(
          `${path}.parallelism`,
          parallelism,
          `must be less than or equal to ${limits.high} ${when}`,
        );
      if (failed !== undefined && failed > limits.high)
        errors.invalid(
          `${path}.maxFailedIndexes`,
          failed,
          `must be less than or equal to ${limits.high} ${when}`,
        );
    }
  }
  if (mode === undefined || mode === "NonIndexed")
    for (const field of ["backoffLimitPerIndex", "maxFailedIndexes"] as const)
      if (spec[field] !== undefined)
        errors.invalid(`${path}.${field}`, spec[field], "requires indexed completion mode");
}

const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const statuses = ["False", "True", "Unknown"];
const quoted = (list: readonly string[]) => `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;

function checkFailurePolicy(path: string, spec: JobSpec, errors: Errors): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > 20) errors.tooMany(`${path}.rules`, rules.length, 20);
  const pod = spec.template?.spec as PodSpec;
  const names = new Set([...(pod.containers ?? []), ...(pod.initContainers ?? [])].map(({ name }) => name));
  for (const [i, rule] of rules.entries()) checkFailureRule(`${path}.rules[${i}]`, rule, spec, names, errors);
}

function checkFailureRule(
  path: string,
  rule: PodFailurePolicyRule,
  spec: JobSpec,
  containers: ReadonlySet<string>,
  errors: Errors,
): void {
  const { action, onExitCodes, onPodConditions = [] } = rule;
  const at = `${path}.action`;
  if (!action) errors.required(at, `valid values: ${quoted(actions)}`);
  else if (action === "FailIndex") {
    if (spec.backoffLimitPerIndex === undefined)
      errors.invalid(at, action, "requires the backoffLimitPerIndex to be set");
  } else if (!actions.includes(action)) errors.notSupported(at, action, actions);
  if (onExitCodes) checkExitCodes(`${path}.onExitCodes`, onExitCodes, containers, errors);
  if (onPodConditions.length > 20) errors.tooMany(`${path}.onPodConditions`, onPodConditions.length, 20);
  for (const [i, pattern] of onPodConditions.entries()) {
    const own = `${path}.onPodConditions[${i}]`;
    errors.messages(`${own}.type`, pattern.type, validateQualifiedName(pattern.type));
    if (!pattern.status) errors.required(`${own}.status`, `valid values: ${quoted(statuses)}`);
    else if (!statuses.includes(pattern.status))
      errors.notSupported(`${own}.status`, pattern.status, statuses);
  }
  const complain = (detail: string) => errors.list.push({ type: "FieldValueInvalid", field: path, detail });
  if (onExitCodes && onPodConditions.length > 0)
    complain("specifying both OnExitCodes and OnPodConditions is not supported");
  if (!onExitCodes && onPodConditions.length === 0)
    complain("specifying one of OnExitCodes and OnPodConditions is required");
}

function checkExitCodes(
  path: string,
  codes: NonNullable<PodFailurePolicyRule["onExitCodes"]>,
  containers: ReadonlySet<string>,
  errors: Errors,
): void {
  const { operator, containerName } = codes;
  const values = codes.values ?? [];
  if (!operator) errors.required(`${path}.operator`, `valid values: ${quoted(operators)}`);
  else if (!operators.includes(operator)) errors.notSupported(`${path}.operator`, operator, operators);
  if (containerName !== undefined && !containers.has(containerName))
    errors.invalid(
      `${path}.containerName`,
      containerName,
      "must be one of the container or initContainer names in the pod template",
    );
  if (values.length === 0)
    errors.invalid(`${path}.values`, codes.values ?? null, "at least one value is required");
  else if (values.length > 255) errors.tooMany(`${path}.values`, values.length, 255);
  const seen = new Set<number>();
  let ordered = true;
  for (const [i, value] of values.entries()) {
    const at = `${path}.values[${i}]`;
    if (operator === "In" && value === 0) errors.invalid(at, value, "must not be 0 for the In operator");
    if (seen.has(value)) errors.duplicate(at, value);
    seen.add(value);
    if (i > 0 && (values[i - 1] ?? 0) > value) ordered = false;
  }
  if (!ordered) errors.invalid(`${path}.values`, values, "must be ordered");
}

function checkSuccessPolicy(path: string, spec: JobSpec, errors: Errors): void {
  const rules = spec.successPolicy?.rules ?? [];
  const completions = spec.completions ?? 0;
  if (rules.length === 0)
    errors.required(
      `${path}.rules`,
      "at least one rules must be specified when the successPolicy is specified",
    );
  if (rules.length > 20) errors.tooMany(`${path}.rules`, rules.length, 20);
  for (const [i, { succeededCount: count, succeededIndexes: indexes }] of rules.entries()) {
    const at = `${path}.rules[${i}]`;
    if (count === undefined && indexes === undefined)
      errors.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    let total = 0;
    if (indexes !== undefined) {
      if (indexes.length > 65_536) errors.tooLong(`${at}.succeededIndexes`, 65_536);
      const counted = countIndexes(indexes, completions);
      if ("problem" in counted)
        errors.invalid(
          `${at}.succeededIndexes`,
          indexes,
          `error parsing succeededIndexes: ${counted.problem}`,
        );
      else total = counted.total;
    }
    if (count === undefined) continue;
    checkNotNegative(`${at}.succeededCount`, count, errors);
    if (count > completions)
      errors.invalid(
        `${at}.succeededCount`,
        count,
        `must be less than or equal to ${completions} (the number of specified completions)`,
      );
    if (indexes !== undefined && count > total)
      errors.invalid(
        `${at}.succeededCount`,
        count,
        `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`,
      );
  }
}

const fixed = [
  "completionMode",
  "podFailurePolicy",
  "backoffLimitPerIndex",
  "managedBy",
  "successPolicy",
] as const;

function checkJobUpdate(job: Job, old: Job, errors: Errors): void {
  const spec = job.spec as JobSpec;
  const before = old.spec as JobSpec;
  const labels = before.template?.metadata?.labels ?? {};
  const prefixed = (nameLabels[1] as string) in labels && uidLabel in labels;
  checkJob(job, old, prefixed, errors);
  checkSelectedSpec(spec, before, errors);
  if (spec.completionMode !== "Indexed")
    checkImmutable("spec.completions", spec.completions, before.completions, errors);
  else if (
    spec.completions !== before.completions &&
    spec.completions !== undefined &&
    spec.completions !== spec.parallelism
  )
    errors.invalid(
      "spec.completions",
      spec.completions,
      "can only be modified in tandem with spec.parallelism",
    );
  checkImmutable("spec.selector", spec.selector, before.selector, errors);
  checkTemplateChange(spec, before, mayChangeTemplate(old), errors);
  for (const field of fixed) checkImmutable(`spec.${field}`, spec[field], before[field], errors);
}

/** A job that waits may be told where to run and how much to use. */
function checkTemplateChange(spec: JobSpec, before: JobSpec, open: boolean, errors: Errors): void {
  const template = spec.template as PodTemplateSpec;
  let old = before.template as PodTemplateSpec;
  if (open) old = withDirectives(old, template);
  if (before.suspend && open) {
    const expected = withResources(old.spec as PodSpec, template.spec as PodSpec);
    checkImmutable("spec.template.spec", template.spec, expected, errors);
  } else checkImmutable("spec.template", template, old, errors);
}

function withDirectives(old: PodTemplateSpec, now: PodTemplateSpec): PodTemplateSpec {
  const spec = { ...(old.spec as PodSpec) };
  const wanted = now.spec as PodSpec;
  const { nodeAffinity: _, ...others } = spec.affinity ?? {};
  const nodeAffinity = wanted.affinity?.nodeAffinity;
  const affinity = { ...others, ...(nodeAffinity && { nodeAffinity }) };
  if (wanted.affinity || Object.keys(others).length > 0) spec.affinity = affinity;
  else delete spec.affinity;
  for (const field of ["nodeSelector", "tolerations", "schedulingGates"] as const) {
    if (wanted[field] === undefined) delete spec[field];
    else spec[field] = wanted[field] as never;
  }
  const metadata = { ...old.metadata };
  for (const field of ["annotations", "labels"] as const) {
    const value = now.metadata?.[field];
    if (value) metadata[field] = value;
    else delete metadata[field];
  }
  return { ...old, metadata, spec };
}

function withResources(old: PodSpec, now: PodSpec): PodSpec {
  const merge = (list: PodSpec["initContainers"], wanted: PodSpec["initContainers"]) => {
    if (!list || list.length !== wanted?.length) return list;
    return list.map((container, i) => {
      const other = wanted[i];
      if (!other || other.name !== container.name) return container;
      const { resources: _, ...rest } = container;
      return other.resources ? { ...rest, resources: other.resources } : rest;
    });
  };
  const spec = { ...old, containers: merge(old.containers, now.containers) ?? [] };
  const initContainers = merge(old.initContainers, now.initContainers);
  if (initContainers) spec.initContainers = initContainers;
  return spec;
}

function jobWarnings(path: string, spec: JobSpec): string[] {
  const warnings: string[] = [];
  if (
    spec.completionMode === "Indexed" &&
    (spec.completions ?? 0) > 100_000 &&
    (spec.parallelism ?? 0) > 10_000
  )
    warnings.push(
      `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
    );
  return [...warnings, ...templateWarnings(`${path}.template`, spec.template as PodTemplateSpec)];
}

const jobSpec = (object: ApiObject) => (object as unknown as Job).spec as JobSpec;

export const jobs: Strategy = {
  prepareForCreate: (draft) => generateSelector(draft),
  beforeCommit(draft, old) {
    // A reader of a job without labels sees those of its template.
    const { labels } = jobSpec(draft).template?.metadata ?? {};
    if (!old && labels && Object.keys(draft.metadata.labels ?? {}).length === 0)
      draft.metadata.labels = { ...labels };
  },
  validate: checking<Job>((job, errors) => checkJob(job, undefined, true, errors)),
  validateUpdate: checkingUpdate(checkJobUpdate),
  warningsOnCreate: (object) => [
    ...hostNameWarning(object.metadata.name),
    ...jobWarnings("spec", jobSpec(object)),
  ],
  warningsOnUpdate: (object, old) =>
    object.metadata.generation === old.metadata.generation ? [] : jobWarnings("spec", jobSpec(object)),
  subresources: { status: { validateUpdate: checkingUpdate(checkJobStatus) } },
};

// ----------------------------------------------------------------------------------------- cron jobs

const concurrency = ["Allow", "Forbid", "Replace"];

function checkCronJob(job: CronJob, old: CronJob | undefined, errors: Errors): void {
  const spec = job.spec as CronJobSpec;
  const before = old?.spec;
  if (!spec.schedule) errors.required("spec.schedule");
  else {
    const problem = scheduleProblem(spec.schedule);
    if (problem) errors.invalid("spec.schedule", spec.schedule, problem);
    if (spec.schedule.includes("TZ")) {
      if (!before?.schedule?.includes("TZ"))
        errors.invalid(
          "spec.schedule",
          spec.schedule,
          "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        );
      else if (spec.timeZone !== undefined)
        errors.invalid(
          "spec.schedule",
          spec.schedule,
          "cannot use both timeZone field and TZ or CRON_TZ in schedule",
        );
    }
  }
  checkNotNegative("spec.startingDeadlineSeconds", spec.startingDeadlineSeconds, errors);
  if (spec.timeZone !== undefined && (!old || before?.timeZone !== spec.timeZone))
    errors.messages("spec.timeZone", spec.timeZone, timeZoneProblems(spec.timeZone));
  const policy = spec.concurrencyPolicy;
  if (!policy) errors.required("spec.concurrencyPolicy");
  else if (!concurrency.includes(policy)) errors.notSupported("spec.concurrencyPolicy", policy, concurrency);
  checkJobTemplate(spec.jobTemplate as JobTemplateSpec, before?.jobTemplate, errors);
  checkNotNegative("spec.successfulJobsHistoryLimit", spec.successfulJobsHistoryLimit, errors);
  checkNotNegative("spec.failedJobsHistoryLimit", spec.failedJobsHistoryLimit, errors);
}

function checkJobTemplate(template: JobTemplateSpec, old: JobTemplateSpec | undefined, errors: Errors): void {
  const spec = template.spec as JobSpec;
  checkSpec("spec.jobTemplate.spec", spec, old?.spec, errors);
  if (spec.selector)
    errors.invalid("spec.jobTemplate.spec.selector", spec.selector, "`selector` will be auto-generated");
  if (spec.manualSelector)
    errors.notSupported("spec.jobTemplate.spec.manualSelector", true, ["nil", "false"]);
}

const cronSpec = (object: ApiObject) => (object as unknown as CronJob).spec as CronJobSpec;

export const cronJobs: Strategy = {
  validate: checking<CronJob>((job, errors) => {
    checkCronJob(job, undefined, errors);
    const name = job.metadata?.name ?? "";
    if (name.length > 52) errors.invalid("metadata.name", name, "must be no more than 52 characters");
  }),
  validateUpdate: checkingUpdate<CronJob>((job, old, errors) => checkCronJob(job, old, errors)),
  warningsOnCreate: (object) => [
    ...hostNameWarning(object.metadata.name),
    ...jobWarnings("spec.jobTemplate.spec", cronSpec(object).jobTemplate?.spec as JobSpec),
  ],
  warningsOnUpdate: (object, old) => {
    const spec = cronSpec(object);
    const warnings = deepEqual(spec, cronSpec(old))
      ? []
      : jobWarnings("spec.jobTemplate.spec", spec.jobTemplate?.spec as JobSpec);
    if (spec.schedule?.includes("TZ"))
      warnings.push(
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
      );
    return warnings;
  },
};
