/** The fenced blocks of a guide, as what a reader does with them. */

/** What a reader does, in order. */
export type Step =
  /** Types commands, one after another. */
  | { readonly type: "commands"; readonly line: number; readonly commands: readonly string[] }
  /** Starts a command and leaves it running; goes on when a line of its output has this text. */
  | { readonly type: "background"; readonly line: number; readonly command: string; readonly until: string }
  /** Ends what was left running. */
  | { readonly type: "end"; readonly line: number }
  /** Writes a file. */
  | { readonly type: "file"; readonly line: number; readonly path: string; readonly content: string }
  /** Edits a file: lines with `-` go, lines with `+` come, others are there. */
  | {
      readonly type: "edit";
      readonly line: number;
      readonly path: string;
      readonly before: string;
      readonly after: string;
    }
  /** Reads in the output of the commands above: each line in this order, `…` stands for anything. */
  | { readonly type: "output"; readonly line: number; readonly lines: readonly string[] };

const DIRECTIVE = /^<!-- (background until: (?<until>.*)|(?<end>end)) -->$/;

/** Throws at a block of a form that nobody runs: a guide promises only what runs. */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  const lines = markdown.split("\n");
  let until: string | undefined;
  for (let index = 0; index < lines.length; index++) {
    const line = index + 1;
    const directive = DIRECTIVE.exec(lines[index] ?? "");
    if (directive?.groups?.["end"]) steps.push({ type: "end", line });
    if (directive?.groups?.["until"]) until = directive.groups["until"];
    const fence = /^```(\w*)$/.exec(lines[index] ?? "");
    if (!fence) continue;
    const close = lines.indexOf("```", index + 1);
    const body = lines.slice(index + 1, close);
    steps.push(stepOf({ language: fence[1] ?? "", body, line, until }));
    until = undefined;
    index = close;
  }
  return steps;
}

interface Block {
  readonly language: string;
  readonly body: readonly string[];
  readonly line: number;
  readonly until: string | undefined;
}

function stepOf({ body, language, line, until }: Block): Step {
  const [first = "", ...rest] = body;
  switch (language) {
    case "shell": {
      const commands = body
        .map((each) => each.replace(/\s+# .*$/, "").trim())
        .filter((each) => each !== "" && !each.startsWith("#"));
      if (until === undefined) return { type: "commands", line, commands };
      return { type: "background", line, command: commands.join(" && "), until };
    }
    case "text":
      return { type: "output", line, lines: body.filter((each) => each.trim() !== "") };
    case "diff": {
      const path = /^--- (\S+)$/.exec(first)?.[1];
      if (path === undefined) throw new Error(`line ${line}: a diff begins with --- and its file`);
      const side = (other: string) =>
        rest
          .filter((each) => !each.startsWith(other))
          .map((each) => `${each.slice(1)}\n`)
          .join("");
      return { type: "edit", line, path, before: side("+"), after: side("-") };
    }
    case "ts":
    case "yaml": {
      const path = /^(?:\/\/|#) (\S+\.\w+)$/.exec(first)?.[1];
      if (path === undefined)
        throw new Error(`line ${line}: a block of ${language} begins with a comment that names its file`);
      return { type: "file", line, path, content: `${rest.join("\n")}\n` };
    }
    default:
      throw new Error(`line ${line}: nobody runs a block of ${language || "no language"}`);
  }
}
