/** Conversion webhooks, called as admission webhooks are: those behind a service at one of its endpoints. */
import { type Clock, type JsonObject, type JsonValue, parseJson } from "@keelson/core";
import type { WebhookCaller, WebhookTarget } from "../contracts/webhook.ts";
import type { WebhookCaller as ConversionCaller } from "./conversion.ts";
import type { WebhookClientConfig } from "./definition.ts";

const timeoutSeconds = 30;

export function conversionCaller(call: WebhookCaller, clock: Clock): ConversionCaller {
  return async (client: WebhookClientConfig, body: JsonObject): Promise<JsonValue> => {
    const controller = new AbortController();
    const cancel = clock.timer(timeoutSeconds * 1000, () =>
      controller.abort(new Error(`no answer in ${timeoutSeconds} s`)),
    );
    try {
      const answer = await call(targetOf(client), JSON.stringify(body), controller.signal);
      if (answer.status !== 200)
        throw new Error(`the webhook answered ${answer.status}: ${answer.body.slice(0, 200)}`);
      return parseJson(answer.body);
    } finally {
      cancel();
    }
  };
}

function targetOf({ url, service, caBundle }: WebhookClientConfig): WebhookTarget {
  const limit = `?timeout=${timeoutSeconds}s`;
  const authorities = caBundle ? Buffer.from(caBundle, "base64").toString() : undefined;
  const trusted = authorities === undefined ? {} : { authorities };
  if (url) return { url: url + limit, ...trusted };
  if (!service) throw new Error("the webhook has neither a URL nor a service");
  const { name, namespace, path = "/", port = 443 } = service;
  const at = `https://${name}.${namespace}.svc:${port}${path}`;
  return { url: at + limit, service: { namespace, name, port }, ...trusted };
}
