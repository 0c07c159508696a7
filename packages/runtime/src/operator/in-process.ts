/** Operators whose webhooks are asked in the same process: tests have no sockets, and time there is not the machine's. */
import type { Listen } from "../webhook/listener.ts";
import { RunningWebhooks } from "../webhook/webhooks.ts";
import { openers } from "./openers.ts";
import type { OperatorOptions } from "./options.ts";

/** The same options, with webhooks that are asked in another way than by HTTPS. */
export function listeningBy(options: OperatorOptions, listen: Listen): OperatorOptions {
  openers.set(options, (parts) => RunningWebhooks.start({ ...parts, listen }));
  return options;
}
