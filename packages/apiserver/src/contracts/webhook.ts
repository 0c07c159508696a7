/** How webhooks are called. */

/** Where a webhook is: at a URL, or behind a service, whose cluster name the URL then has. */
export interface WebhookTarget {
  readonly url: string;
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number };
  /** Authorities in PEM; the system's own when absent. */
  readonly authorities?: string;
}

/** Posts a JSON body and returns the answer, whatever its status. Rejects when there is none. */
export type WebhookCaller = (
  target: WebhookTarget,
  body: string,
  signal: AbortSignal,
) => Promise<{ readonly status: number; readonly body: string }>;
