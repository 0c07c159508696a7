/** Requests of a pod to the API server, by its service account. */
import { readFileSync } from "node:fs";
import { Agent as HttpsAgent, request } from "node:https";
import { join } from "node:path";
import { parseKnownJson } from "../ha/json.ts";
import { type Send, StatusError } from "./kubernetes.ts";

export interface ApiServerOptions {
  readonly timeoutMs: number;
  /** Where the service account's token and authority are mounted. */
  readonly credentials?: string;
}

export function apiServer({
  timeoutMs,
  credentials = "/var/run/secrets/kubernetes.io/serviceaccount",
}: ApiServerOptions): Send {
  const agent = new HttpsAgent({ keepAlive: true, maxSockets: 4 });
  return async (method, path, body) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const outgoing = request(
      {
        host: process.env["KUBERNETES_SERVICE_HOST"],
        port: process.env["KUBERNETES_SERVICE_PORT"],
        path,
        method,
        agent,
        // The kubelet renews the token in place.
        ca: readFileSync(join(credentials, "ca.crt")),
        headers: {
          authorization: `Bearer ${readFileSync(join(credentials, "token"), "utf8").trim()}`,
          accept: "application/json",
          ...(text !== undefined && {
            "content-type": "application/merge-patch+json",
            "content-length": Buffer.byteLength(text),
          }),
        },
        signal: AbortSignal.timeout(timeoutMs),
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => {
          const said = Buffer.concat(chunks).toString();
          const code = answer.statusCode ?? 0;
          if (code >= 200 && code < 300) resolve(parseKnownJson(said));
          else reject(new StatusError(code, `${method} ${path}: ${code} ${said.slice(0, 300)}`));
        });
      },
    );
    outgoing.on("error", (error) => {
      closeIdle(agent);
      reject(error);
    });
    outgoing.end(text);
    return await promise;
  };
}

/**
 * After a request without an answer. If answers no longer arrive, requests may, over connections that are open: each
 * would renew a lease that nobody knows of here, and keep others from taking it.
 */
function closeIdle(agent: HttpsAgent): void {
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}
