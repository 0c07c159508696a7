/** Checks the types of a project with its own compiler, beside the running operator. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseJson } from "@keelson/core";
import { codeFrame } from "./code-frame.ts";

/** One mistake that the compiler found. */
export interface Diagnostic {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** `TS2322` */
  readonly code: string;
  readonly message: string;
  /** What the compiler adds, from the general to the particular. */
  readonly details: readonly string[];
  /** The place in the file. */
  readonly frame: readonly string[];
}

/** The project's own compiler; undefined where there is none, or no tsconfig.json. */
export function compilerOf(directory: string): string | undefined {
  if (!existsSync(join(directory, "tsconfig.json"))) return undefined;
  try {
    const manifest = findPackageJSON("typescript", pathToFileURL(join(directory, "package.json")));
    if (manifest === undefined) return undefined;
    const { bin } = parseJson(readFileSync(manifest, "utf8")) as unknown as { bin: { tsc: string } };
    return join(dirname(manifest), bin.tsc);
  } catch {
    return undefined;
  }
}

/** What the compiler says of the project as it is now. Throws when it cannot be asked. */
export async function checkTypes(
  directory: string,
  compiler: string,
  signal: AbortSignal,
): Promise<Diagnostic[]> {
  const args = [
    "--noEmit",
    "--pretty",
    "false",
    "--incremental",
    "--tsBuildInfoFile",
    ".keelson/types.tsbuildinfo",
  ];
  const child = spawn(process.execPath, [compiler, "-p", ".", ...args], {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const found = parseDiagnostics(output, (file) => textOf(join(directory, file)));
  if (code !== 0 && found.length === 0)
    throw new Error(output.trim().split("\n")[0] || `tsc ended with ${code}`);
  return found;
}

/** `src/a.ts(3,5): error TS2322: Type …`, with lines that belong to it below. */
export function parseDiagnostics(output: string, read: (file: string) => string): Diagnostic[] {
  const found: (Diagnostic & { readonly details: string[] })[] = [];
  for (const line of output.split("\n")) {
    const match = /^(.+?)\((\d+),(\d+)\): error (TS\d+): (.*)$/.exec(line);
    const last = found.at(-1);
    if (match) {
      const [, file = "", row, column, code = "", message = ""] = match;
      const place = { line: Number(row), column: Number(column) };
      found.push({ file, ...place, code, message, details: [], frame: codeFrame(read(file), place) });
    } else if (last && line.startsWith(" ")) last.details.push(line.trim());
  }
  return found;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
