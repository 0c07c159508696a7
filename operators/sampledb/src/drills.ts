/** The controller of drills: how a SampleDB is written to while it is broken. */
import { type DrillClient, drillController } from "@keelson/kit";
import type { Controller } from "keelson";
import { type AgentTask, bindingVariables, taskVariable } from "./agent/task.ts";
import { Drill } from "./api/drill.ts";
import { SampleDB } from "./api/sampledb.ts";
import { agentCommand, operatorImage } from "./resources/agent-pod.ts";
import { objectNames } from "./resources/names.ts";

export function drills(): Controller {
  return drillController(Drill, { targets: [SampleDB], image: operatorImage, client: ledger });
}

/** Takes its connection from the binding Secret, as any application does. */
function ledger({ name }: { readonly name: string }): DrillClient | undefined {
  const image = operatorImage();
  if (image === undefined) return undefined;
  const task: AgentTask = { do: "ledger" };
  const { binding } = objectNames({ name });
  const { host, port, password, authority } = bindingVariables;
  const from = (variable: string, key: string) => ({
    name: variable,
    valueFrom: { secretKeyRef: { name: binding, key, optional: key === "ca.crt" } },
  });
  return {
    image,
    command: agentCommand,
    env: [
      { name: taskVariable, value: JSON.stringify(task) },
      ...[from(host, "host"), from(port, "port"), from(password, "password"), from(authority, "ca.crt")],
    ],
  };
}
