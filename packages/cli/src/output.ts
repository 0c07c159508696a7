/** How commands print what programs read: `--output json` or `--output yaml`. */
import type { StricliProcess } from "@stricli/core";

/** Forms that a program reads. */
export type OutputFormat = "json" | "yaml";

/** The flag, for every command that prints something. */
export const output = {
  kind: "enum",
  values: ["json", "yaml"],
  brief: "Print for programs",
  optional: true,
} as const;

/** One value in the form that was asked for. */
export async function print(
  process: StricliProcess,
  value: unknown,
  format: OutputFormat = "yaml",
): Promise<void> {
  if (format === "json") process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  else {
    const { stringify } = await import("yaml");
    process.stdout.write(stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 }));
  }
}
