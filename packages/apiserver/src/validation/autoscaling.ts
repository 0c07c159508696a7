/** Rules of horizontal autoscalers. */
import { parseApiVersion, Quantity, validateDns1123Label } from "@keelson/core";
import type {
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
  MetricSpec,
  MetricTarget,
} from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import type { Errors } from "./checks/errors.ts";
import { notNegative } from "./checks/formats.ts";
import { checkSegment } from "./checks/references.ts";
import { checking, checkingUpdate, checkNotNegative } from "./checks/strategies.ts";
import { checkContainerResource } from "./core/resources.ts";

const longestPeriod = 1800;
const longestWindow = 3600;

interface ReferenceRules {
  readonly anyVersion?: boolean;
  readonly coreGroup?: boolean;
}
interface Rules {
  readonly lowest: number;
  readonly target: ReferenceRules;
  readonly described: ReferenceRules;
}

function versionProblem(ref: CrossVersionObjectReference, rules: ReferenceRules): string | undefined {
  if (rules.anyVersion) return undefined;
  const { apiVersion = "" } = ref;
  if (apiVersion.split("/").length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  if (!rules.coreGroup && !parseApiVersion(apiVersion).group) return "apiVersion must specify API group";
  return undefined;
}

function checkReference(
  path: string,
  ref: CrossVersionObjectReference,
  rules: ReferenceRules,
  errors: Errors,
): void {
  checkSegment(`${path}.kind`, ref.kind, errors);
  checkSegment(`${path}.name`, ref.name, errors);
  const problem = versionProblem(ref, rules);
  if (problem) errors.invalid(`${path}.apiVersion`, ref.apiVersion ?? "", problem);
}

function checkSpec(spec: HorizontalPodAutoscalerSpec, rules: Rules, errors: Errors): void {
  const { minReplicas, maxReplicas = 0, scaleTargetRef, metrics = [], behavior } = spec;
  if (minReplicas !== undefined && minReplicas < rules.lowest)
    errors.invalid("spec.minReplicas", minReplicas, `must be greater than or equal to ${rules.lowest}`);
  if (maxReplicas === 0) errors.required("spec.maxReplicas", "must be set and greater than 0");
  else if (maxReplicas < 0)
    errors.invalid("spec.maxReplicas", maxReplicas, "must be greater than or equal to 1");
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    errors.invalid("spec.maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`");
  checkReference("spec.scaleTargetRef", scaleTargetRef ?? { kind: "", name: "" }, rules.target, errors);
  for (const [i, metric] of metrics.entries()) checkMetric(`spec.metrics[${i}]`, metric, rules, errors);
  if (minReplicas === 0 && !metrics.some(({ type }) => type === "Object" || type === "External"))
    errors.forbidden(
      "spec.metrics",
      "must specify at least one Object or External metric to support scaling to zero replicas",
    );
  checkScaling("spec.behavior.scaleUp", behavior?.scaleUp, errors);
  checkScaling("spec.behavior.scaleDown", behavior?.scaleDown, errors);
}

const selections = ["Disabled", "Max", "Min"];
const policyTypes = ["Percent", "Pods"];

function checkScaling(path: string, rules: HPAScalingRules | undefined, errors: Errors): void {
  if (!rules) return;
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  if (window !== undefined && window < 0)
    errors.invalid(`${path}.stabilizationWindowSeconds`, window, "must be greater than or equal to zero");
  if (window !== undefined && window > longestWindow)
    errors.invalid(
      `${path}.stabilizationWindowSeconds`,
      window,
      `must be less than or equal to ${longestWindow}`,
    );
  if (selectPolicy !== undefined && !selections.includes(selectPolicy))
    errors.notSupported(`${path}.selectPolicy`, selectPolicy, selections);
  if (policies.length === 0) errors.required(`${path}.policies`, "must specify at least one Policy");
  for (const [i, { type = "", value = 0, periodSeconds = 0 }] of policies.entries()) {
    const at = `${path}.policies[${i}]`;
    if (!policyTypes.includes(type)) errors.notSupported(`${at}.type`, type, policyTypes);
    if (value <= 0) errors.invalid(`${at}.value`, value, "must be greater than zero");
    if (periodSeconds <= 0) errors.invalid(`${at}.periodSeconds`, periodSeconds, "must be greater than zero");
    if (periodSeconds > longestPeriod)
      errors.invalid(`${at}.periodSeconds`, periodSeconds, `must be less than or equal to ${longestPeriod}`);
  }
  if (tolerance !== undefined && Quantity.from(tolerance).sign() < 0)
    errors.invalid(`${path}.tolerance`, String(tolerance), notNegative);
}

const sourceTypes = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/** In the order in which the server looks at them. */
const sources = ["object", "external", "pods", "resource", "containerResource"] as const;

function checkMetric(path: string, metric: MetricSpec, rules: Rules, errors: Errors): void {
  const { type = "" } = metric;
  if (type === "") errors.required(`${path}.type`, "must specify a metric source type");
  const known = sourceTypes.includes(type);
  if (!known) errors.notSupported(`${path}.type`, type, sourceTypes);
  const present = sources.filter((source) => metric[source]);
  const [first] = present;
  if (first) checkSource(`${path}.${first}`, first, metric, rules, errors);
  const expected = (type.slice(0, 1).toLowerCase() + type.slice(1)) as (typeof sources)[number];
  if (!known) errors.notSupported(`${path}.type`, type, sourceTypes);
  else if (!metric[expected])
    errors.required(`${path}.${expected}`, "must populate information for the given metric source");
  if (present.length !== 1)
    for (const source of present)
      if (!known || source !== expected)
        errors.forbidden(`${path}.${source}`, "must populate the given metric source only");
}

function checkSource(
  path: string,
  source: (typeof sources)[number],
  metric: MetricSpec,
  rules: Rules,
  errors: Errors,
): void {
  if (source === "resource" || source === "containerResource") {
    const { name, target } = metric[source] ?? {};
    if (!name) errors.required(`${path}.name`, "must specify a resource name");
    if (source === "containerResource") {
      if (name) checkContainerResource(`${path}.name`, name, errors);
      const container = metric.containerResource?.container;
      if (!container) errors.required(`${path}.container`, "must specify a container");
      else errors.messages(`${path}.container`, container, validateDns1123Label(container));
    }
    checkTarget(`${path}.target`, target, errors);
    const utilization = target?.averageUtilization !== undefined;
    const value = target?.averageValue !== undefined;
    if (!utilization && !value)
      errors.required(
        `${path}.target.averageUtilization`,
        "must set either a target raw value or a target utilization",
      );
    if (utilization && value)
      errors.forbidden(
        `${path}.target.averageValue`,
        "may not set both a target raw value and a target utilization",
      );
    return;
  }
  const { metric: identifier, target } = metric[source] ?? {};
  if (source === "object")
    checkReference(
      `${path}.describedObject`,
      metric.object?.describedObject ?? { kind: "", name: "" },
      rules.described,
      errors,
    );
  if (!identifier?.name) errors.required(`${path}.metric.name`, "must specify a metric name");
  else checkSegment(`${path}.metric.name`, identifier.name, errors);
  checkTarget(`${path}.target`, target, errors);
  const value = target?.value !== undefined;
  const average = target?.averageValue !== undefined;
  const at = `${path}.target.averageValue`;
  if (source === "pods") {
    if (!average) errors.required(at, "must specify a positive target averageValue");
  } else if (!value && !average)
    errors.required(
      at,
      source === "object"
        ? "must set either a target value or averageValue"
        : "must set either a target value for metric or a per-pod target",
    );
  else if (source === "external" && value && average)
    errors.forbidden(
      `${path}.target.value`,
      "may not set both a target value for metric and a per-pod target",
    );
}

const targetTypes = ["Utilization", "Value", "AverageValue"];

function checkTarget(path: string, target: MetricTarget | undefined, errors: Errors): void {
  const { type = "", value, averageValue, averageUtilization } = target ?? {};
  if (type === "") errors.required(`${path}.type`, "must specify a metric target type");
  if (!targetTypes.includes(type))
    errors.invalid(`${path}.type`, type, "must be either Utilization, Value, or AverageValue");
  for (const [field, amount] of Object.entries({ value, averageValue }))
    if (amount !== undefined && Quantity.from(amount).sign() <= 0)
      errors.invalid(`${path}.${field}`, String(amount), "must be positive");
  if (averageUtilization !== undefined && averageUtilization < 1)
    errors.invalid(`${path}.averageUtilization`, averageUtilization, "must be greater than 0");
}

type EitherSpec = HorizontalPodAutoscalerSpec & { targetCPUUtilizationPercentage?: number };

/** The first version knows one target; the rules are those of the second. */
function specOf(object: HorizontalPodAutoscaler): HorizontalPodAutoscalerSpec {
  const { targetCPUUtilizationPercentage: share, ...spec } = (object.spec ?? {}) as EitherSpec;
  if (share === undefined) return spec;
  const target = { type: "Utilization", averageUtilization: share };
  return { ...spec, metrics: [{ type: "Resource", resource: { name: "cpu", target } }] };
}

function rulesFor(now: HorizontalPodAutoscaler, old?: HorizontalPodAutoscaler): Rules {
  const ref = now.spec?.scaleTargetRef;
  const before = old?.spec?.scaleTargetRef;
  const same = old && before?.apiVersion === ref?.apiVersion && before?.kind === ref?.kind;
  const described = { coreGroup: true };
  const hadWrong = old?.spec?.metrics?.some(
    ({ type, object }) => type === "Object" && object && versionProblem(object.describedObject, described),
  );
  return {
    lowest: old?.spec?.minReplicas === 0 ? 0 : 1,
    target: { anyVersion: !!same, coreGroup: !same && ref?.kind === "ReplicationController" },
    described: hadWrong ? { anyVersion: true } : described,
  };
}

export const horizontalPodAutoscalers: Strategy = {
  validate: checking<HorizontalPodAutoscaler>((object, errors) =>
    checkSpec(specOf(object), rulesFor(object), errors),
  ),
  validateUpdate: checkingUpdate<HorizontalPodAutoscaler>((object, old, errors) =>
    checkSpec(specOf(object), rulesFor(object, old), errors),
  ),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<HorizontalPodAutoscaler>(({ status }, _old, errors) => {
        checkNotNegative("status.currentReplicas", status?.currentReplicas, errors);
        checkNotNegative("status.desiredReplicas", status?.desiredReplicas, errors);
      }),
    },
  },
};
