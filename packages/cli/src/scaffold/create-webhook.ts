/** `keelson create webhook`: adds a webhook for a resource to a project. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Project } from "../project.ts";
import { entryOf, existingApi } from "./existing-api.ts";
import { changedEntry, recorded } from "./record.ts";
import { registerWebhook, webhookRegistration } from "./register-webhook.ts";
import { webhookFiles, webhookName } from "./webhook-files.ts";
import { type ScaffoldFile, type Written, writeFiles } from "./write-files.ts";

/** What was written, and the lines that are left to a person. */
export interface CreatedWebhook extends Written {
  readonly left: readonly string[];
}

export function createWebhook(project: Project, kind: string): CreatedWebhook {
  const { directory } = project;
  const { name: folder } = existingApi(project, kind);
  const entry = entryOf(project);
  const name = webhookName(folder);
  const registered = registerWebhook(entry, name, folder);
  const path = join(directory, `examples/${folder}.yaml`);
  const example = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  const made = webhookFiles({ kind, folder, operator: project.name, example });
  const files: ScaffoldFile[] = [...made];
  if (registered !== undefined) files.push({ path: project.entry, content: registered, replaces: entry });
  const record = recorded(directory, made, ({ files: before, webhooks }) => ({
    files: changedEntry(before, project.entry, (text) => registerWebhook(text, name, folder)),
    webhooks: [...new Set([...webhooks, kind])],
  }));
  const written = writeFiles(directory, [...files, ...record]);
  const there = new RegExp(`\\b${name}\\b`).test(entry);
  return { ...written, left: registered === undefined && !there ? webhookRegistration(name, folder) : [] };
}
