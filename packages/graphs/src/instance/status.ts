/** The status of an instance: its state, its conditions, and the fields that its definition projects. */
import { CelList, CelMap, type CelValue } from "@keelson/cel";
import { formatTime, type JsonObject, type Stored } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { GraphCondition } from "../api/definition.ts";
import { runtimeValue } from "../expressions/condition-library.ts";
import { DataPending } from "../expressions/expression.ts";
import { celValue } from "../expressions/values.ts";
import type { Graph } from "../graph/graph.ts";
import { type Finding, stamped, withReady } from "./conditions.ts";
import type { NodeState, PassResult } from "./run.ts";

const managed: Finding = {
  type: "InstanceManaged",
  status: "True",
  reason: "Managed",
  message: "instance is properly managed with finalizers and labels",
};

const resolved: Finding = {
  type: "GraphResolved",
  status: "True",
  reason: "Resolved",
  message: "runtime graph created and all resources resolved",
};

/** The state of an instance, in kro's words. */
export type InstanceState = "ACTIVE" | "IN_PROGRESS" | "ERROR" | "DELETING";

interface InstanceStatus {
  readonly conditions?: readonly GraphCondition[];
}

interface Report {
  readonly state: Exclude<InstanceState, "ACTIVE">;
  readonly resources: Omit<Finding, "type">;
  readonly fields: JsonObject;
  readonly pass?: PassResult;
}

/** What a pass over the resources says. */
export function statusAfter(graph: Graph, instance: Stored, pass: PassResult, nowMs: number): JsonObject {
  let fields: JsonObject = {};
  let failure: string | undefined;
  try {
    fields = pass.evaluation.status();
  } catch (error) {
    failure = errorText(error);
  }
  const resources = resourcesFinding(pass.states, failure);
  const failed = failure !== undefined || [...pass.states.values()].some(({ state }) => state === "error");
  const report = { state: failed ? "ERROR" : "IN_PROGRESS", resources, fields, pass } as const;
  return statusOf(graph, instance, report, nowMs);
}

/** While its resources are left alone, the fields stay as they are. */
export function suspendedStatus(graph: Graph, instance: Stored, nowMs: number): JsonObject {
  const resources = {
    status: "False",
    reason: "ReconciliationSuspended",
    message: "the annotation kro.run/reconcile suspends it",
  } as const;
  return statusOf(graph, instance, { state: "IN_PROGRESS", resources, fields: fieldsOf(instance) }, nowMs);
}

export function deletingStatus(graph: Graph, instance: Stored, message: string, nowMs: number): JsonObject {
  const resources = { status: "Unknown", reason: "UnderDeletion", message } as const;
  return statusOf(graph, instance, { state: "DELETING", resources, fields: fieldsOf(instance) }, nowMs);
}

/** A definition that cannot be followed leaves the instance as it is, and says so. */
function statusOf(graph: Graph, instance: Stored, report: Report, nowMs: number): JsonObject {
  const { state, resources, fields, pass } = report;
  const findings = withReady([managed, resolved, { type: "ResourcesReady", ...resources }]);
  const ready = findings.at(-1)?.status === "True";
  const at = { generation: instance.metadata.generation ?? 0, now: formatTime(nowMs) };
  const previous = (instance as { status?: InstanceStatus }).status?.conditions;
  const builtIn = stamped(findings, previous, at);
  const authored =
    pass && graph.conditions.length > 0 ? authoredConditions(graph, instance, pass, builtIn) : undefined;
  const kept = authored && stamped(authored.findings, previous, at);
  return {
    ...fields,
    state: authored?.failed ? "ERROR" : ready ? "ACTIVE" : state,
    conditions: (kept
      ? authored?.incomplete
        ? withPrevious(kept, previous)
        : kept
      : graph.conditions.length > 0
        ? withPrevious(
            builtIn.filter(({ type }) => type === "ResourcesReady"),
            previous,
          )
        : builtIn) as unknown as JsonObject[],
  };
}

/** Conditions that could not be told this time stay. */
function withPrevious(
  current: readonly GraphCondition[],
  previous: readonly GraphCondition[] = [],
): GraphCondition[] {
  const told = new Set(current.map(({ type }) => type));
  return [...current, ...previous.filter(({ type }) => !told.has(type))];
}

function fieldsOf(instance: Stored): JsonObject {
  const {
    conditions: _conditions,
    state: _state,
    ...fields
  } = (instance as { status?: JsonObject }).status ?? {};
  return fields;
}

function resourcesFinding(
  states: ReadonlyMap<string, NodeState>,
  failure: string | undefined,
): Omit<Finding, "type"> {
  const all = [...states.values()];
  const told = (wanted: NodeState["state"]) =>
    all.flatMap(({ state, message }) => (state === wanted && message !== undefined ? [message] : []));
  const errors = [...told("error"), ...(failure === undefined ? [] : [failure])];
  if (errors.length > 0) return notReady("NotReady", `resource reconciliation failed: ${errors.join("; ")}`);
  const going = told("deleting");
  if (going.length > 0) return notReady("ResourceDeleting", going.join("; "));
  const waits = [...told("waiting"), ...told("pending")];
  if (waits.length > 0) return notReady("NotReady", `awaiting resource readiness: ${waits.join("; ")}`);
  return { status: "True", reason: "AllResourcesReady", message: "all resources are created and ready" };
}

function notReady(reason: string, message: string): Omit<Finding, "type"> {
  return { status: "False", reason, message };
}

/** Conditions of the author's in place of the built-in ones, which they can look at. */
function authoredConditions(
  graph: Graph,
  instance: Stored,
  pass: PassResult,
  builtIn: readonly GraphCondition[],
): { findings: Finding[]; incomplete: boolean; failed: boolean } {
  const { status: _, ...rest } = instance as Stored & { status?: unknown };
  const seen = celValue({ ...rest, status: { conditions: builtIn } }, graph.schema);
  const findings: Finding[] = [];
  let incomplete = false;
  let failed = false;
  for (const expression of graph.conditions) {
    const bindings = pass.evaluation.bindingsWith(expression, { schema: seen, runtime: runtimeValue });
    try {
      findings.push(...findingsIn(expression.value(bindings)));
    } catch (error) {
      incomplete = true;
      if (!(error instanceof DataPending)) failed = true;
    }
  }
  const counts = Map.groupBy(findings, ({ type }) => type);
  const unique = findings.filter(({ type }) => counts.get(type)?.length === 1);
  return { findings: unique, incomplete, failed: failed || unique.length < findings.length };
}

function findingsIn(value: CelValue): Finding[] {
  if (value instanceof CelList) return [...value].flatMap(findingsIn);
  if (!(value instanceof CelMap)) throw new Error("an expression of a condition gave no condition");
  const text = (field: string) => String(value.find(field) ?? "");
  return [
    {
      type: text("type"),
      status: text("status") as Finding["status"],
      reason: text("reason"),
      message: text("message"),
    },
  ];
}
