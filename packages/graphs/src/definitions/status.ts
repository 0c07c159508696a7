/** The status of a definition. */
import { formatTime, type JsonObject } from "@keelson/core";
import type { DefinitionStatus } from "../api/definition.ts";
import type { Graph } from "../graph/graph.ts";
import { awaiting, type Finding, stamped, withReady } from "../instance/conditions.ts";

/** How far a definition has come. What is not told keeps what it was, or is not known yet. */
export interface DefinitionReport {
  readonly accepted?: Finding;
  readonly kind?: Finding;
  readonly controller?: Finding;
  /** Present once it was accepted. */
  readonly graph?: Graph;
  readonly generation: number;
}

export const accepted: Finding = {
  type: "GraphAccepted",
  status: "True",
  reason: "Valid",
  message: "resource graph and schema are valid",
};

export function refused(message: string): Finding {
  return { type: "GraphAccepted", status: "False", reason: "InvalidResourceGraph", message };
}

export function kindReady(kind: string): Finding {
  return {
    type: "KindReady",
    status: "True",
    reason: "Ready",
    message: `kind ${kind} has been accepted and ready`,
  };
}

export function kindUnready(message: string): Finding {
  return { type: "KindReady", status: "False", reason: "Failed", message };
}

export const running: Finding = {
  type: "ControllerReady",
  status: "True",
  reason: "Running",
  message: "controller is running",
};

export function notRunning(message: string): Finding {
  return { type: "ControllerReady", status: "False", reason: "FailedToStart", message };
}

export function definitionStatus(
  report: DefinitionReport,
  previous: DefinitionStatus | undefined,
  nowMs: number,
): JsonObject {
  const { graph, generation } = report;
  const findings = [
    resolved(report),
    report.accepted ?? before("GraphAccepted", previous),
    report.kind ?? before("KindReady", previous),
    report.controller ?? before("ControllerReady", previous),
  ];
  const serves = findings.slice(1).every(({ status }) => status === "True");
  const resources = graph?.nodes.filter(({ dependencies }) => dependencies.length > 0) ?? [];
  const conditions = stamped(withReady(findings), previous?.conditions, {
    generation,
    now: formatTime(nowMs),
  });
  return {
    state: serves ? "Active" : "Inactive",
    ...(graph && graph.nodes.length > 0 ? { topologicalOrder: graph.nodes.map(({ id }) => id) } : {}),
    ...(resources.length > 0
      ? {
          resources: resources.map(({ id, dependencies }) => ({
            id,
            dependencies: dependencies.map((each) => ({ id: each })),
          })),
        }
      : {}),
    lastIssuedRevision: graph ? generation : (previous?.lastIssuedRevision ?? 0),
    conditions: conditions as unknown as JsonObject[],
  };
}

/** There are no revisions apart from the definition: the one that was last taken is in force. */
function resolved({ graph, generation }: DefinitionReport): Finding {
  if (!graph) return awaiting("GraphRevisionsResolved");
  return {
    type: "GraphRevisionsResolved",
    status: "True",
    reason: "Resolved",
    message: `generation ${generation} is in force`,
  };
}

function before(type: string, previous: DefinitionStatus | undefined): Finding {
  const found = previous?.conditions?.find((each) => each.type === type);
  if (!found) return awaiting(type);
  return { type, status: found.status, reason: found.reason ?? "", message: found.message ?? "" };
}
