/** The webhooks that are configured, compiled when their configurations change. */
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  WebhookClientConfig,
} from "@keelson/core/kinds";
import type { StoreReader } from "../../contracts/store.ts";
import type { WebhookTarget } from "../../contracts/webhook.ts";
import { MatchConditions } from "../expressions.ts";
import { Selectors } from "../matching.ts";

export type Webhook = ValidatingWebhook & Pick<MutatingWebhook, "reinvocationPolicy">;

export interface ConfiguredWebhook {
  /** Unlike names, never used twice. */
  readonly key: string;
  readonly hook: Webhook;
  readonly selectors: Selectors;
  readonly conditions: MatchConditions;
  readonly target: WebhookTarget;
  readonly timeoutSeconds: number;
  readonly ignoresFailures: boolean;
}

const group = "admissionregistration.k8s.io";

/** Asks the store on first use and after each change. */
export class ConfiguredWebhooks {
  readonly #store: StoreReader;
  readonly #resource: { readonly group: string; readonly resource: string };
  #known: readonly ConfiguredWebhook[] | undefined;

  constructor(store: StoreReader, resource: string) {
    this.#store = store;
    this.#resource = { group, resource };
    store.subscribe(this.#resource, () => {
      this.#known = undefined;
    });
  }

  /** By configuration, in the order of their names. */
  get list(): readonly ConfiguredWebhook[] {
    this.#known ??= (
      this.#store.list(this.#resource) as unknown as readonly MutatingWebhookConfiguration[]
    ).flatMap(({ metadata, webhooks = [] }) => {
      const repeated = new Map<string, number>();
      return webhooks.map((hook) => {
        const count = repeated.get(hook.name) ?? 0;
        repeated.set(hook.name, count + 1);
        return compile(`${metadata?.name}/${hook.name}/${count}`, hook);
      });
    });
    return this.#known;
  }
}

function compile(key: string, hook: Webhook): ConfiguredWebhook {
  return {
    key,
    hook,
    selectors: new Selectors(hook),
    conditions: new MatchConditions(hook.matchConditions ?? []),
    target: targetOf(hook.clientConfig),
    timeoutSeconds: hook.timeoutSeconds ?? 10,
    ignoresFailures: hook.failurePolicy === "Ignore",
  };
}

function targetOf({ url, service, caBundle }: WebhookClientConfig): WebhookTarget {
  const authorities = caBundle ? Buffer.from(caBundle, "base64").toString() : "";
  const common = authorities.trim() ? { authorities } : {};
  if (!service) return { url: url ?? "", ...common };
  const { namespace, name, port = 443, path = "" } = service;
  return {
    url: `https://${name}.${namespace}.svc:${port}${path.startsWith("/") ? path : `/${path}`}`,
    service: { namespace, name, port },
    ...common,
  };
}
