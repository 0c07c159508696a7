/** The agent: does one task, reports in the container's termination message, and ends. */

import { writeFileSync } from "node:fs";
import { parseJson } from "keelson";
import { runTask } from "./run.ts";
import { type AgentReport, type AgentTask, taskVariable } from "./task.ts";

const messageFile = "/dev/termination-log";
let report: AgentReport;
try {
  const task = parseJson(process.env[taskVariable] ?? "") as AgentTask;
  report = { ok: true, ...(await runTask(task)) };
} catch (error) {
  const { code = "Failed", message } = error as Error & { code?: string };
  report = { ok: false, code: String(code), message };
}
const text = JSON.stringify(report);
console.log(text);
try {
  writeFileSync(messageFile, text.slice(0, 4_000));
} catch {
  // Without that file the log says the same.
}
process.exit(report.ok ? 0 : 1);
