/** A container's log as lines or bytes. */
import type { HttpResponse, ObjectRef } from "@keelson/core";
import type { Client, RequestOptions } from "../client/client.ts";
import { withQuery } from "../client/paths.ts";
import { LineSplitter } from "../objects/lines.ts";
import { Requester } from "../request/requester.ts";
import { podPath } from "./streaming.ts";

/** Which part of a container’s log is read. */
export interface LogOptions extends RequestOptions {
  /** Needed when the pod has several. */
  readonly container?: string;
  /** Goes on with what is written from now on. */
  readonly follow?: boolean;
  /** The run before the last restart. */
  readonly previous?: boolean;
  readonly sinceSeconds?: number;
  /** RFC 3339. */
  readonly sinceTime?: string;
  /** This many lines from the end. */
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** Puts the time of writing before each line. */
  readonly timestamps?: boolean;
}

export async function* logBytes(
  client: Client,
  ref: ObjectRef,
  options: LogOptions = {},
): AsyncGenerator<Uint8Array, void, void> {
  const stop = new AbortController();
  const forward = () => stop.abort(options.signal?.reason);
  if (options.signal?.aborted) return;
  options.signal?.addEventListener("abort", forward, { once: true });
  try {
    const response = await open(client, ref, options, stop.signal);
    yield* response.body;
  } catch (error) {
    if (!options.signal?.aborted) throw error;
  } finally {
    options.signal?.removeEventListener("abort", forward);
    stop.abort();
  }
}

export async function* logLines(
  client: Client,
  ref: ObjectRef,
  options: LogOptions = {},
): AsyncGenerator<string, void, void> {
  const lines = new LineSplitter();
  for await (const chunk of logBytes(client, ref, options)) {
    lines.push(chunk);
    for (let line = lines.take(); line !== undefined; line = lines.take()) yield line.toString("utf8");
  }
  // A process that dies in the middle of a line has still written it.
  const rest = lines.takeRest();
  if (rest.length > 0) yield rest.toString("utf8");
}

async function open(
  client: Client,
  ref: ObjectRef,
  options: LogOptions,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const doing = `read the log of Pod ${ref.namespace}/${ref.name}`;
  return await Requester.of(client).stream({
    doing,
    method: "GET",
    path: withQuery(podPath(ref, "log", doing), {
      container: options.container,
      follow: options.follow || undefined,
      previous: options.previous || undefined,
      sinceSeconds: options.sinceSeconds,
      sinceTime: options.sinceTime,
      tailLines: options.tailLines,
      limitBytes: options.limitBytes,
      timestamps: options.timestamps || undefined,
    }),
    accept: "*/*",
    signal,
    timeoutMs: options.timeoutMs,
  });
}
