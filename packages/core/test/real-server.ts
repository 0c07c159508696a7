/** A real API server for a test: requests in, answers out, nothing else. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { startControlPlane } from "@keelson/reference/control-plane";
import { type JsonObject, parseJson } from "../src/index.ts";
import type { Answer, Server } from "./play.ts";

export interface RealServer extends Server, AsyncDisposable {
  readonly version: string;
}

export async function startRealServer(): Promise<RealServer> {
  const plane = await startControlPlane();
  const agent = new Agent({ keepAlive: true, ca: readFileSync(plane.caFile) });
  const send = (method: string, path: string, body?: unknown, contentType = "application/json") =>
    new Promise<Answer>((resolve, reject) => {
      const call = request(
        `${plane.server}${path}`,
        { method, agent, headers: { authorization: `Bearer ${plane.token}`, "content-type": contentType } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString("utf8");
            // A path that is not served yet is answered in plain text.
            const json = String(response.headers["content-type"]).includes("json");
            const body = json ? (parseJson(text) as JsonObject) : { message: text };
            resolve({ status: response.statusCode ?? 0, body });
          });
        },
      );
      call.on("error", reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return {
    version: plane.version,
    send,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await plane[Symbol.asyncDispose]();
    },
  };
}
