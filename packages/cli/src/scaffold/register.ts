/** Adds a resource and its controller to a project's entry, without touching anything else in it. */
import type { ApiNames } from "./names.ts";
import { LINE_WIDTH } from "./project-files.ts";

/** The new text, or undefined where the entry no longer has the form that `keelson init` gave it. */
export function register(entry: string, api: ApiNames): string | undefined {
  const { controller, folder, kind } = api;
  const imported = insertSorted(
    entry,
    /^import \{ \w+ \} from "\.\/[\w-]+\/controller\.ts";$/gm,
    `import { ${controller} } from "./${folder}/controller.ts";`,
  );
  const exported =
    imported &&
    insertSorted(
      imported,
      /^export \{ \w+ \} from "\.\/[\w-]+\/api\.ts";$/gm,
      `export { ${kind} } from "./${folder}/api.ts";`,
    );
  if (exported === undefined) return undefined;
  const list = /controllers: \[([^\]]*?),?\s*\]/.exec(exported);
  if (!list) return undefined;
  const names = `${list[1]}`.split(",").map((name) => name.trim());
  const controllers = names.includes(controller) ? names : [...names, controller];
  return exported.replace(list[0], listOf("controllers", controllers.filter(Boolean)));
}

/** On one line where it fits, as the formatter would have it. */
export function listOf(property: string, names: readonly string[]): string {
  const line = `${property}: [${names.join(", ")}]`;
  if (line.length + "  ,".length <= LINE_WIDTH) return line;
  return `${property}: [\n${names.map((name) => `    ${name},\n`).join("")}  ]`;
}

/** The lines that a person adds where the entry cannot be changed by itself. */
export function registration({ controller, folder, kind }: ApiNames): string[] {
  return [
    `import { ${controller} } from "./${folder}/controller.ts";`,
    `export { ${kind} } from "./${folder}/api.ts";`,
    `operator({ controllers: […, ${controller}] })`,
  ];
}

/** Among the lines of its form, in the order of their modules; undefined where there are none. */
function insertSorted(text: string, form: RegExp, line: string): string | undefined {
  const lines = [...text.matchAll(form)].map((match) => ({ line: match[0], at: match.index }));
  const [first] = lines;
  if (!first) return undefined;
  if (lines.some((each) => each.line === line)) return text;
  const after = lines.findLast((each) => moduleOf(each.line) < moduleOf(line));
  return after
    ? `${text.slice(0, after.at + after.line.length)}\n${line}${text.slice(after.at + after.line.length)}`
    : `${text.slice(0, first.at)}${line}\n${text.slice(first.at)}`;
}

/** The folder: a formatter sorts by the parts of a path. */
function moduleOf(line: string): string {
  return /"\.\/(.*)\//.exec(line)?.[1] ?? "";
}
