/** How the webhooks of an operator are opened, where that is not by HTTPS. */
import type { RunningWebhooks, WebhooksParts } from "../webhook/webhooks.ts";
import type { OperatorOptions } from "./options.ts";

export const openers = new WeakMap<OperatorOptions, (parts: WebhooksParts) => Promise<RunningWebhooks>>();
