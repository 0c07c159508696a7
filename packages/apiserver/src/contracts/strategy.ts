/** The rules of one resource. */
import type { Clock, Random } from "@keelson/core";
import type { UserInfo } from "./authentication.ts";
import type { FieldError } from "./field-error.ts";
import type { ApiObject } from "./object.ts";
import type { StoreReader } from "./store.ts";

export interface StrategyContext {
  readonly user: UserInfo;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: StoreReader;
  /** The version in the request's path. */
  readonly version: string;
  readonly namespace: string;
  readonly dryRun: boolean;
}

/**
 * The rules of one resource. All methods are synchronous and pure but for drafts they are handed to change.
 * The server does what all kinds share: metadata, names, generation by spec, status kept on the main path
 * and everything else kept on `/status`, managed fields.
 */
export interface Strategy {
  /** Fills in defaults of the version being decoded. Runs on every write, after decoding and after a patch. */
  default?(draft: ApiObject, version: string): void;
  /** Before validation of a create: clears what the client may not choose, sets generation-like fields. */
  prepareForCreate?(draft: ApiObject, context: StrategyContext): void;
  prepareForUpdate?(draft: ApiObject, old: ApiObject, context: StrategyContext): void;
  validate?(object: ApiObject, context: StrategyContext): FieldError[];
  validateUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): FieldError[];
  warningsOnCreate?(object: ApiObject, context: StrategyContext): string[];
  warningsOnUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): string[];
  /** After validation: brings equivalent forms to one. */
  canonicalize?(draft: ApiObject): void;
  /** Messages about a name; `prefix` when it is a generateName. Default: DNS subdomain. */
  validateName?(name: string, prefix: boolean): string[];
  /** A PUT may create (Lease, Event, …). Default false. */
  readonly allowCreateOnUpdate?: boolean;
  /** A PUT without resourceVersion is taken. Default true for built-in kinds. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Whether metadata.generation counts changes; `spec` compares spec. Default: `spec` when the kind has both spec and status. */
  readonly generation?: "spec" | "none" | ((object: ApiObject, old: ApiObject) => boolean);
  /** The field that `/status` owns and the main path keeps. Default: `status` when the resource has the subresource. */
  readonly statusField?: string | null;
  /** Rules of subresources that write the object, by name: `status`, `ephemeralcontainers`, … */
  readonly subresources?: Readonly<Record<string, SubresourceStrategy>>;
  /** Seconds of grace for a delete, and whether the object may be removed at once. Default: none. */
  gracePeriod?(object: ApiObject, requested: number | undefined): number;
  /** Changes the object when a graceful deletion begins or is shortened. */
  prepareForDelete?(draft: ApiObject): void;
  /** Default propagation when the client names none. Default Background. */
  readonly defaultPropagation?: "Background" | "Orphan" | "Foreground";
  /** Field selectors beyond metadata.name and metadata.namespace, each to its value. */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Runs inside the commit of a create or update, past validation: allocate an address. Throws to refuse. */
  beforeCommit?(draft: ApiObject, old: ApiObject | undefined, context: StrategyContext): void;
  /** Runs after a delete committed: release an address. */
  afterDelete?(object: ApiObject, context: StrategyContext): void;
}

export interface SubresourceStrategy {
  /** Takes from `draft` what the subresource may change, on top of `old`. */
  prepareForUpdate?(draft: ApiObject, old: ApiObject, context: StrategyContext): void;
  validateUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): FieldError[];
  warningsOnUpdate?(object: ApiObject, old: ApiObject, context: StrategyContext): string[];
}
