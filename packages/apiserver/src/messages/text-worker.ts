/** Reads and prints long texts on a thread of its own, which can be ended. */
import { parentPort } from "node:worker_threads";
import { parseJson } from "@keelson/core";
import { readYaml, type YamlDocument, YamlError } from "./read-yaml.ts";

/** YAML to be read, or JSON to be printed in another way. */
export type TextTask =
  | { readonly read: string }
  | { readonly print: Uint8Array; readonly as: "yaml" | "indented json" };

export type TextAnswer =
  | { readonly document: YamlDocument }
  | { readonly text: Uint8Array }
  | { readonly problem: string };

async function perform(task: TextTask): Promise<TextAnswer> {
  if ("print" in task)
    return { text: Buffer.from(await printed(Buffer.from(task.print).toString(), task.as)) };
  try {
    return { document: await readYaml(task.read) };
  } catch (error) {
    // A stack that ran out did so over what the client sent.
    if (error instanceof YamlError || error instanceof RangeError) return { problem: error.message };
    throw error;
  }
}

/** JSON in another way. */
export async function printed(json: string, as: "yaml" | "indented json"): Promise<string> {
  if (as === "indented json") return JSON.stringify(parseJson(json), null, 2);
  const { stringify } = await import("yaml");
  return stringify(parseJson(json));
}

parentPort?.on(
  "message",
  (task: TextTask) => void perform(task).then((answer) => parentPort?.postMessage(answer)),
);
