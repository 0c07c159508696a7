/** Adds a webhook to the operator in a project's entry, without touching anything else in it. */
import { objectLiteralAt } from "./object-literal.ts";
import { listOf } from "./register.ts";

/** The new text, or undefined where the entry no longer has the form that `keelson init` gave it. */
export function registerWebhook(entry: string, name: string, folder: string): string | undefined {
  if (new RegExp(`\\b${name}\\b`).test(entry)) return undefined;
  const imports = [...entry.matchAll(/^import \{[^}]*\} from "\.\/([\w-]+)\/\w+\.ts";$/gm)];
  const after = imports.findLast(([, each = ""]) => each <= folder);
  const [first] = imports;
  const call = /\boperator\(/.exec(entry);
  const literal = call && objectLiteralAt(entry, call.index + call[0].length);
  if (!first || !literal) return undefined;
  const property = literal.properties.find((each) => each.name === "webhooks");
  const list = property && /^\[([\s\S]*?),?\s*\]$/.exec(entry.slice(property.value, property.to));
  if (property && !list) return undefined;
  const names = [
    ...(list?.[1] ?? "")
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean),
    name,
  ];
  const text = listOf("webhooks", names);
  const last = literal.properties.at(-1);
  if (!last) return undefined;
  const edited = property
    ? entry.slice(0, property.from) + text + entry.slice(property.to)
    : `${entry.slice(0, last.to)},\n  ${text}${entry.slice(last.to)}`;
  const line = `import { ${name} } from "./${folder}/webhook.ts";`;
  const at = after ? after.index + after[0].length : first.index;
  return after
    ? `${edited.slice(0, at)}\n${line}${edited.slice(at)}`
    : `${edited.slice(0, at)}${line}\n${edited.slice(at)}`;
}

/** The lines that a person adds where the entry cannot be changed by itself. */
export function webhookRegistration(name: string, folder: string): string[] {
  return [`import { ${name} } from "./${folder}/webhook.ts";`, `operator({ …, webhooks: [${name}] })`];
}
