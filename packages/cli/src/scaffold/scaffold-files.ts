/** Every file that a scaffold of this release writes for a project with these resources and webhooks. */
import { apiFiles, packagesOf } from "./api-files.ts";
import { apiNames } from "./names.ts";
import type { Packages } from "./packages.ts";
import { projectFiles } from "./project-files.ts";
import type { PlannedApi } from "./record.ts";
import { register } from "./register.ts";
import { registerWebhook } from "./register-webhook.ts";
import { webhookFiles, webhookName } from "./webhook-files.ts";
import type { ScaffoldFile } from "./write-files.ts";

/** What a project consists of. */
export interface Plan {
  readonly name: string;
  readonly apis: readonly PlannedApi[];
  readonly webhooks: readonly string[];
}

const ENTRY = "src/index.ts";

export function scaffoldFiles({ apis, name, webhooks }: Plan, packages: Packages): ScaffoldFile[] {
  const [first, ...others] = apis.map((api) => ({ ...apiNames(api), template: api.template }));
  if (!first) return [];
  const uses = [...new Set(apis.flatMap(({ template }) => packagesOf(template)))];
  const files = projectFiles({ name, api: first, packages, uses });
  for (const api of [first, ...others]) files.push(...apiFiles(api, api.template));
  let entry = files.find(({ path }) => path === ENTRY)?.content ?? "";
  for (const api of others) entry = register(entry, api) ?? entry;
  for (const kind of webhooks) {
    const api = [first, ...others].find((each) => each.kind === kind);
    if (!api) continue;
    const example = files.find(({ path }) => path === `examples/${api.folder}.yaml`)?.content;
    files.push(...webhookFiles({ kind, folder: api.folder, operator: name, example }));
    entry = registerWebhook(entry, webhookName(api.folder), api.folder) ?? entry;
  }
  return files.map((file) => (file.path === ENTRY ? { ...file, content: entry } : file));
}
