/** An admission webhook as a value: a kind, when it is asked, and functions that answer. */
import { type AnyKind, type Clock, groupKind, type JsonObject, type ObjectOf } from "@keelson/core";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";

/** What a request to the API server does. */
export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** Who sent a request to the API server. */
export interface AdmissionUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The request that a webhook is asked about. */
export interface AdmissionRequest<K extends AnyKind = AnyKind> {
  readonly operation: AdmissionOperation;
  /** The object before; present on UPDATE and DELETE. */
  readonly oldObject: ObjectOf<K> | undefined;
  /** Empty for an object whose name the server will make. */
  readonly name: string;
  /** Undefined for objects without one. */
  readonly namespace: string | undefined;
  /** `status`, `scale`, …; undefined for the object itself. */
  readonly subresource: string | undefined;
  readonly user: AdmissionUser;
  /** Nothing will be stored: do nothing outside. */
  readonly dryRun: boolean;
  /** The options of the request, as CreateOptions or DeleteOptions. */
  readonly options: JsonObject | undefined;
  /** Shows a sentence to the one who sent the request; at most 256 characters of it. */
  warn(message: string): void;
  /** Aborted when the API server no longer waits for the answer. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A refusal. Made by {@link deny}. */
export interface Denied {
  readonly denied: true;
  readonly message: string;
  /** The field at fault: the answer is then 422 Invalid, and 403 Forbidden otherwise. */
  readonly field?: string;
}

/** Refuses a request: `deny("a cache cannot shrink", { field: "spec.size" })`. */
export function deny(message: string, options: { readonly field?: string } = {}): Denied {
  return { denied: true, message, ...options };
}

/** Which requests a webhook is asked about, beside their kind. */
export interface WebhookMatch {
  /** Default: CREATE and UPDATE. */
  readonly operations?: readonly AdmissionOperation[];
  /** `status`, `scale`, …. Default: the object itself. */
  readonly subresource?: string;
  /** Labels that the namespace must have. */
  readonly namespaces?: LabelSelector;
  /** Labels that the object must have, before or after. */
  readonly objects?: LabelSelector;
  /** Expressions in CEL over `object`, `oldObject`, `request` and `authorizer`, by name: all must be true. */
  readonly conditions?: Readonly<Record<string, string>>;
}

/** Labels by which objects are chosen, as Kubernetes writes them. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
    readonly values?: readonly string[];
  }[];
}

/** How a webhook answers. */
export interface WebhookDefinition<K extends AnyKind> extends WebhookMatch {
  /** Names it in paths, configurations and metrics. Default: the kind in lower case. */
  readonly name?: string;
  /** Refuses what must not be stored. Of an object that is deleted it sees the last state. */
  readonly validate?: (
    object: ObjectOf<K>,
    request: AdmissionRequest<K>,
    // biome-ignore lint/suspicious/noConfusingVoidType: most requests are admitted without a word.
  ) => Denied | undefined | void | Promise<Denied | undefined | void>;
  /** Changes the object in place before it is validated and stored. Must come to the same result when it is asked again. */
  readonly mutate?: (
    object: ObjectOf<K>,
    request: AdmissionRequest<K>,
    // biome-ignore lint/suspicious/noConfusingVoidType: most objects are changed without a word.
  ) => Denied | undefined | void | Promise<Denied | undefined | void>;
  /** What happens to a request when no replica answers. Default: `Fail`. */
  readonly failurePolicy?: "Fail" | "Ignore";
  /** How long the server waits for an answer. Default: 5 s; at most 30 s. */
  readonly timeoutSeconds?: number;
  /** Whether `mutate` is asked again when a later webhook changed the object. Default: `IfNeeded`. */
  readonly reinvocation?: "Never" | "IfNeeded";
}

/** A webhook, ready to be given to an operator or a test. */
export interface Webhook {
  readonly role: "webhook";
  readonly name: string;
  readonly kind: AnyKind;
  readonly definition: WebhookDefinition<AnyKind>;
}

/**
 * Makes a webhook for a resource of one's own or any other kind. A resource with conversions is converted by it too;
 * without `validate` and `mutate` that is all it does.
 */
export function webhook<K extends AnyKind>(kind: K, definition: WebhookDefinition<K> = {}): Webhook {
  const name = definition.name ?? kind.kind.toLowerCase();
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) {
    throw new RuntimeError(
      "InvalidDeclaration",
      `the webhook's name ${JSON.stringify(name)} must be a DNS label, because it is part of a path and a domain`,
    );
  }
  const { timeoutSeconds = 5, validate, mutate } = definition;
  if (timeoutSeconds < 1 || timeoutSeconds > 30) {
    throw new RuntimeError("InvalidDeclaration", `webhook "${name}": timeoutSeconds must be 1 to 30`);
  }
  if (!validate && !mutate && !isConverting(kind)) {
    throw new RuntimeError(
      "InvalidDeclaration",
      `webhook "${name}" of ${groupKind(kind)} does nothing: give it validate or mutate, or a resource with conversions`,
    );
  }
  return Object.freeze({ role: "webhook", name, kind, definition: definition as WebhookDefinition<never> });
}

/** Whether objects of the kind are converted by functions of the author's. */
export function isConverting(kind: AnyKind): boolean {
  const { conversions } = kind as { conversions?: Readonly<Record<string, unknown>> };
  return conversions !== undefined && Object.keys(conversions).length > 0;
}
