/** `/log`: what a container wrote, from its node. */

import { type FieldError, forbiddenField, invalidField } from "../contracts/field-error.ts";
import { internalError, invalid, notFound } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import { type BodyStream, header, type ServerResponse } from "../messages/message.ts";
import type { Exchange } from "../rest/exchange.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { containerOf } from "./containers.ts";
import { kubeletOf } from "./destinations.ts";
import type { ProxyResponse, ProxyTransport } from "./transport.ts";
import { overWebSocket } from "./web-socket-reader.ts";

const passedOn = ["follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes"];

export function podLogHandler(store: StoreReader, transport: ProxyTransport): SubresourceHandler {
  return async (exchange) => {
    const { info, request } = exchange;
    const pod = store.get({ group: "", resource: "pods" }, info.namespace, info.name);
    if (!pod) throw notFound({ group: "", resource: "pods" }, info.name);
    checkOptions(exchange);
    const container = containerOf(pod, info.query.get("container"));
    const { nodeName } = (pod.spec ?? {}) as { nodeName?: string };
    const headers = { "content-type": "text/plain" };
    // A pod that no node has cannot have written anything yet.
    if (!nodeName) return { status: 204, headers: {}, body: "" };
    const query = new URLSearchParams();
    for (const name of passedOn) {
      const value = info.query.get(name);
      if (value !== null) query.set(name, value);
    }
    const path = `/containerLogs/${info.namespace}/${info.name}/${container}?${query}`;
    const to = kubeletOf(store, nodeName, "pods");
    let response: ProxyResponse;
    try {
      response = await transport.request(to, { method: "GET", path, headers: {}, signal: request.signal });
    } catch (error) {
      throw internalError(
        `Get "https://${to.host}:${to.port}${path}": ${error instanceof Error ? error.message : String(error)}`,
        error,
      );
    }
    const answer = await passOn(response, headers);
    if (!request.canUpgrade || header(request.headers, "upgrade")?.toLowerCase() !== "websocket")
      return answer;
    return { status: 101, headers: {}, body: overWebSocket(request.headers, response.body) };
  };
}

/** The log itself, or the kubelet's complaint as a Status. */
async function passOn(response: ProxyResponse, headers: Record<string, string>): Promise<ServerResponse> {
  if (response.status !== 200) {
    let text = "";
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
    throw response.status === 404
      ? notFound({ group: "", resource: "pods/log" }, text.trim())
      : badAnswer(text.trim());
  }
  return { status: 200, headers, body: streamOf(response.body) };
}

function badAnswer(text: string) {
  return internalError(text);
}

/** Passes chunks on as they come; a client that does not read makes the source wait. */
export function streamOf(source: AsyncIterable<Uint8Array>): BodyStream {
  return {
    open(sink) {
      let gone = false;
      sink.onClose(() => {
        gone = true;
      });
      const run = async () => {
        for await (const chunk of source) {
          if (gone) return;
          sink.write(chunk);
          await sink.drained();
        }
        sink.end();
      };
      run().catch(() => sink.abort());
    },
  };
}

function checkOptions({ info }: Exchange): void {
  const errors: FieldError[] = [];
  for (const field of ["tailLines", "sinceSeconds", "limitBytes"] as const) {
    const text = info.query.get(field);
    if (text === null) continue;
    const least = field === "tailLines" ? 0 : 1;
    if (Number(text) < least)
      errors.push(
        invalidField(
          field,
          Number(text),
          least === 0 ? "must be greater than or equal to 0" : "must be greater than 0",
        ),
      );
  }
  if (info.query.has("sinceSeconds") && info.query.has("sinceTime"))
    errors.push({
      type: "FieldValueForbidden",
      field: "[]",
      detail: "at most one of `sinceTime` or `sinceSeconds` may be specified",
    });
  if (info.query.has("stream")) errors.push(forbiddenField("stream", "may not be specified"));
  if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, info.name, errors);
}
