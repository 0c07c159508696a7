/**
 * The command line of everything under `npm run`: options are listed once, with their help. `--help` prints the list; what is
 * not understood is answered with one sentence, the list, and exit code 2.
 */
import { parseArgs } from "node:util";

/** An option without a value: false unless it is given. */
interface Flag {
  readonly help: string;
  readonly text?: never;
  readonly number?: never;
}

interface TextOption {
  /** Stands for the value in the help, such as `DIR`. */
  readonly text: string;
  readonly number?: never;
  readonly help: string;
  readonly default?: string;
  readonly required?: true;
  /** The only values that are allowed. */
  readonly oneOf?: readonly string[];
}

/** Not negative; fractions are allowed. */
interface NumberOption {
  /** Stands for the value in the help, such as `N`. */
  readonly number: string;
  readonly text?: never;
  readonly help: string;
  readonly default?: number;
}

type Option = Flag | TextOption | NumberOption;
export type Options = Readonly<Record<string, Option>>;

type TextOf<O> = O extends { readonly oneOf: readonly (infer Word)[] } ? Word : string;
type OrUndefined<O, Value> = O extends { readonly default: unknown } | { readonly required: true }
  ? Value
  : Value | undefined;
type ValueOf<O> = O extends { readonly text: string }
  ? OrUndefined<O, TextOf<O>>
  : O extends { readonly number: string }
    ? OrUndefined<O, number>
    : boolean;
export type Values<O extends Options> = { readonly [Name in keyof O]: ValueOf<O[Name]> };

export interface CommandLine<O extends Options> {
  /** As it is typed: `npm run explore`. */
  readonly command: string;
  /** What it does, in one or a few sentences. */
  readonly does: string;
  readonly options?: O;
  /** Words beside the options, as they are in the help: `[etcd|sampledb|database]`. Without it there may be none. */
  readonly words?: string;
}

/** An invalid command line. */
export class UsageError extends Error {}

/** Reads the command line of this process. Ends the process after `--help` and when it does not understand. */
export function commandLine<const O extends Options>(
  definition: CommandLine<O>,
  args: readonly string[] = process.argv.slice(2),
): Values<O> & { readonly words: readonly string[] } {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(usageOf(definition));
    process.exit(0);
  }
  try {
    return readArguments(definition, args);
  } catch (error) {
    if (error instanceof UsageError) refuse(`${error.message}\n\n${usageOf(definition)}`);
    throw error;
  }
}

/** For values that only the command itself can judge. */
export function refuse(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}

export function readArguments<const O extends Options>(
  { command, options, words }: CommandLine<O>,
  args: readonly string[],
): Values<O> & { readonly words: readonly string[] } {
  const known = new Map<string, Option>(Object.entries(options ?? {}));
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      [...known].map(([name, option]) => [name, { type: isFlag(option) ? "boolean" : "string" } as const]),
    ),
    strict: false,
    tokens: true,
  });
  const given: string[] = [];
  const values = new Map([...known].map(([name, option]) => [name, initial(option)]));
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      if (words === undefined) throw new UsageError(`${command} takes no "${token.value}"`);
      given.push(token.value);
      continue;
    }
    const option = known.get(token.name);
    if (option === undefined) throw new UsageError(`${command} has no option ${token.rawName}`);
    // Without "=", the word that follows may be the next option.
    const value = token.inlineValue || !token.value?.startsWith("--") ? token.value : undefined;
    values.set(token.name, read(token.rawName, option, value));
  }
  for (const [name, option] of known) {
    if ("required" in option && values.get(name) === undefined)
      throw new UsageError(`${command} needs --${name} ${option.text}`);
  }
  return { ...Object.fromEntries(values), words: given } as Values<O> & { readonly words: readonly string[] };
}

function isFlag(option: Option): option is Flag {
  return option.text === undefined && option.number === undefined;
}

function initial(option: Option): string | number | boolean | undefined {
  return isFlag(option) ? false : option.default;
}

function read(name: string, option: Option, value: string | undefined): string | number | boolean {
  if (isFlag(option)) {
    if (value !== undefined) throw new UsageError(`${name} takes no value`);
    return true;
  }
  if (value === undefined) throw new UsageError(`${name} needs a value`);
  if (option.number !== undefined) {
    if (!/^\d+(\.\d+)?$/.test(value)) throw new UsageError(`${name} must be a number, not "${value}"`);
    return Number(value);
  }
  if (option.oneOf && !option.oneOf.includes(value))
    throw new UsageError(`${name} must be one of ${option.oneOf.join(", ")}, not "${value}"`);
  return value;
}

/** What `--help` prints, for a terminal of so many columns. */
export function usageOf(
  { command, does, options, words }: CommandLine<Options>,
  columns: number = process.stdout.columns ?? 100,
): string {
  const rows: [left: string, right: string][] = [];
  const takes: string[] = words === undefined ? [] : [words];
  for (const [name, option] of Object.entries(options ?? {})) {
    const value = option.text ?? option.number;
    const left = value === undefined ? `--${name}` : `--${name} ${value}`;
    if ("required" in option) takes.push(left);
    rows.push([left, option.help + defaultOf(option)]);
  }
  if (rows.length > 0) takes.push("[options]");
  rows.push(["--help", "print this"]);
  const indent = 4 + Math.max(...rows.map(([left]) => left.length));
  return [
    [command, ...(takes.length === 0 ? [] : ["--", ...takes])].join(" "),
    "",
    ...does.split("\n").flatMap((line) => wrapped(line, columns)),
    "",
    ...rows.map(([left, right]) => {
      const lines = wrapped(right, Math.max(30, columns - indent));
      return `  ${left}`.padEnd(indent) + lines.join(`\n${" ".repeat(indent)}`);
    }),
  ].join("\n");
}

function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`;
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function defaultOf(option: Option): string {
  const values = "oneOf" in option && option.oneOf ? `: ${option.oneOf.join(", ")}` : "";
  const fallback =
    isFlag(option) || option.default === undefined || option.default === ""
      ? ""
      : ` (default: ${option.default})`;
  return values + fallback;
}
