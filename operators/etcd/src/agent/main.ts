/** The process in a backup's pods: does one task and leaves its report where the kubelet looks for it. */
import { writeFileSync } from "node:fs";
import { parseJson } from "keelson";
import { runTask } from "./run.ts";
import { type AgentTask, taskVariable } from "./task.ts";

const report = await runTask(parseJson(process.env[taskVariable] ?? "null") as AgentTask);
const text = JSON.stringify(report);
writeFileSync(process.env["TERMINATION_LOG"] ?? "/dev/termination-log", text);
process.stdout.write(`${text}\n`);
process.exitCode = report.ok ? 0 : 1;
