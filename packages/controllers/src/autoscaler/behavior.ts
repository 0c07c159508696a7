/** How fast an autoscaler may move: windows that it looks back on, and steps that it may take. Pure. */
import type { HorizontalPodAutoscalerSpec, HPAScalingRules } from "@keelson/core/kinds";

/** What the autoscaler did and thought before; times in milliseconds. */
export interface Memory {
  /** What the metrics asked for, and when. */
  recommendations: readonly { readonly atMs: number; readonly replicas: number }[];
  /** By how much it scaled, and when. */
  changes: readonly { readonly atMs: number; readonly by: number }[];
}

export interface Limited {
  readonly replicas: number;
  /** Of the condition ScalingLimited. */
  readonly limit: { readonly status: "True" | "False"; readonly reason: string; readonly message: string };
  /** Of the condition AbleToScale. */
  readonly able: { readonly reason: string; readonly message: string };
}

const defaultUp: Required<Pick<HPAScalingRules, "selectPolicy" | "policies" | "stabilizationWindowSeconds">> =
  {
    selectPolicy: "Max",
    stabilizationWindowSeconds: 0,
    policies: [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ],
  };
const defaultDown: typeof defaultUp = {
  selectPolicy: "Max",
  stabilizationWindowSeconds: 300,
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

export function limited(
  spec: Pick<HorizontalPodAutoscalerSpec, "behavior" | "minReplicas" | "maxReplicas">,
  current: number,
  wanted: number,
  memory: Memory,
  nowMs: number,
): Limited {
  const up = { ...defaultUp, ...defined(spec.behavior?.scaleUp) };
  const down = { ...defaultDown, ...defined(spec.behavior?.scaleDown) };
  const within = (seconds: number) =>
    memory.recommendations
      .filter(({ atMs }) => nowMs - atMs < seconds * 1000)
      .map(({ replicas }) => replicas);
  // Up no further than the least, and down no further than the most, of what was asked for lately.
  const least = Math.min(wanted, ...within(up.stabilizationWindowSeconds));
  const most = Math.max(wanted, ...within(down.stabilizationWindowSeconds));
  const stable = Math.min(Math.max(current, least), most);
  const able =
    stable === wanted
      ? { reason: "ReadyForNewScale", message: "recommended size matches current size" }
      : wanted < current
        ? {
            reason: "ScaleDownStabilized",
            message:
              "recent recommendations were higher than current one, applying the highest recent recommendation",
          }
        : {
            reason: "ScaleUpStabilized",
            message:
              "recent recommendations were lower than current one, applying the lowest recent recommendation",
          };
  const min = spec.minReplicas ?? 1;
  const changed = (periodSeconds: number, sign: 1 | -1) =>
    memory.changes
      .filter(({ atMs, by }) => nowMs - atMs < periodSeconds * 1000 && Math.sign(by) === sign)
      .reduce((total, { by }) => total + Math.abs(by), 0);
  if (stable > current) {
    const ceiling = highest(up, current, (period) => changed(period, 1));
    const bound = Math.min(spec.maxReplicas, Math.max(ceiling, current));
    if (stable <= bound) return { replicas: stable, able, limit: notLimited };
    const isMax = bound === spec.maxReplicas;
    return {
      replicas: bound,
      able,
      limit: isMax
        ? {
            status: "True",
            reason: "TooManyReplicas",
            message: "the desired replica count is more than the maximum replica count",
          }
        : {
            status: "True",
            reason: "ScaleUpLimit",
            message: "the desired replica count is increasing faster than the maximum scale rate",
          },
    };
  }
  if (stable < current) {
    const floor = lowest(down, current, (period) => changed(period, -1));
    const bound = Math.max(min, Math.min(floor, current));
    if (stable >= bound) return { replicas: stable, able, limit: notLimited };
    return {
      replicas: bound,
      able,
      limit:
        bound === min
          ? {
              status: "True",
              reason: "TooFewReplicas",
              message: "the desired replica count is less than the minimum replica count",
            }
          : {
              status: "True",
              reason: "ScaleDownLimit",
              message: "the desired replica count is decreasing faster than the maximum scale rate",
            },
    };
  }
  return { replicas: current, able, limit: notLimited };
}

const notLimited = {
  status: "False",
  reason: "DesiredWithinRange",
  message: "the desired count is within the acceptable range",
} as const;

function defined(rules: HPAScalingRules | undefined): Partial<typeof defaultUp> {
  const { selectPolicy, policies, stabilizationWindowSeconds } = rules ?? {};
  return {
    ...(selectPolicy !== undefined && { selectPolicy }),
    ...(policies !== undefined && policies.length > 0 && { policies }),
    ...(stabilizationWindowSeconds !== undefined && { stabilizationWindowSeconds }),
  };
}

type Rules = typeof defaultUp;

function highest(
  { selectPolicy, policies }: Rules,
  current: number,
  added: (seconds: number) => number,
): number {
  if (selectPolicy === "Disabled") return current;
  const proposals = policies.map(({ type, value, periodSeconds }) => {
    const before = current - added(periodSeconds);
    return type === "Pods" ? before + value : Math.ceil(before * (1 + value / 100));
  });
  return selectPolicy === "Min" ? Math.min(...proposals) : Math.max(...proposals);
}

function lowest(
  { selectPolicy, policies }: Rules,
  current: number,
  removed: (seconds: number) => number,
): number {
  if (selectPolicy === "Disabled") return current;
  const proposals = policies.map(({ type, value, periodSeconds }) => {
    const before = current + removed(periodSeconds);
    return type === "Pods" ? before - value : Math.floor(before * (1 - value / 100));
  });
  // The most change is the least that is left.
  return selectPolicy === "Min" ? Math.max(...proposals) : Math.min(...proposals);
}
