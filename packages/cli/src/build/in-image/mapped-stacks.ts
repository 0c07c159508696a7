/**
 * Makes the stack traces of a bundled program name its sources. Every program of an operator's image imports it first. Node's
 * own way reads each source map when a module is loaded, which took 30 MB and 180 ms; this reads one when a trace is printed.
 */
import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";

/** Traces come again and again from the same places. */
const MOST_PLACES = 2_000;
const places = new Map<string, string>();
/** A map has several MB when it is parsed. Undefined where a file has none. */
const maps = new Map<string, WeakRef<SourceMap> | undefined>();

Error.prepareStackTrace = (error, frames) =>
  [headerOf(error), ...frames.map((frame) => `    at ${described(frame)}`)].join("\n");

/** As Node begins a trace. */
function headerOf(error: Error & { readonly code?: unknown }): string {
  const { code, message, name } = error;
  const isNodes = typeof code === "string" && code.startsWith("ERR_");
  return isNodes ? `${name} [${code}]: ${message}` : Error.prototype.toString.call(error);
}

function described(frame: NodeJS.CallSite): string {
  const text = String(frame);
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith("file:") || line === null || column === null) return text;
  const place = `${file}:${line}:${column}`;
  let source = places.get(place);
  if (source === undefined) {
    source = sourceOf(file, line, column) ?? place;
    if (places.size >= MOST_PLACES) places.clear();
    places.set(place, source);
  }
  return text.replace(place, () => source);
}

function sourceOf(file: string, line: number, column: number): string | undefined {
  const found = mapOf(file)?.findEntry(line - 1, column - 1);
  if (!found || !("originalSource" in found)) return undefined;
  const { originalColumn, originalLine, originalSource } = found;
  return `${new URL(originalSource, file).href}:${originalLine + 1}:${originalColumn + 1}`;
}

function mapOf(file: string): SourceMap | undefined {
  const held = maps.get(file)?.deref();
  if (held || (maps.has(file) && maps.get(file) === undefined)) return held;
  const read = readMap(file);
  maps.set(file, read && new WeakRef(read));
  return read;
}

function readMap(file: string): SourceMap | undefined {
  try {
    const text = readFileSync(new URL(`${file}.map`), "utf8");
    // biome-ignore lint/plugin: a bundler wrote it, without keys that could be misread.
    return new SourceMap(JSON.parse(text) as SourceMapPayload);
  } catch {
    // Most files are not bundled, and a trace that does not name its sources is better than none.
    return undefined;
  }
}
