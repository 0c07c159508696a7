/** What our own packages need of hooks. No promise is made for it: it may change in any release. */
export { type Hook, hookSchema, type Webhook, webhookSchema } from "./api/webhook.ts";
export { namedObjects } from "./call/credentials.ts";
export { type CallScope, HookClient } from "./call/hook-client.ts";
