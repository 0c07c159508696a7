/** Calls webhooks over HTTPS. */
import { request } from "node:https";
import type { JsonObject, JsonValue } from "@keelson/core";
import type { WebhookClientConfig } from "./definition.ts";

const timeoutMs = 30_000;

/** Services are reached by their cluster name; who cannot resolve it plugs in another caller. */
export function callWebhook(client: WebhookClientConfig, body: JsonObject): Promise<JsonValue> {
  const url = client.url ?? serviceUrl(client);
  const payload = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: "POST",
        headers: { "content-type": "application/json", "content-length": payload.length },
        timeout: timeoutMs,
        ...(client.caBundle && { ca: Buffer.from(client.caBundle, "base64") }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode !== 200) {
            reject(new Error(`the webhook answered ${response.statusCode}: ${text.slice(0, 200)}`));
            return;
          }
          try {
            resolve(JSON.parse(text) as JsonValue);
          } catch (error) {
            reject(error);
          }
        });
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer in ${timeoutMs} ms`)));
    outgoing.on("error", reject);
    outgoing.end(payload);
  });
}

function serviceUrl({ service }: WebhookClientConfig): string {
  if (!service) throw new Error("the webhook has neither a URL nor a service");
  const { name, namespace, path = "/", port = 443 } = service;
  return `https://${name}.${namespace}.svc:${port}${path}`;
}
