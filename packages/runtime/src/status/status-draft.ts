/** The status that follows from how a reconcile ended: conditions, observedGeneration, and the author's own part. */

import { type ApiError, isApiError, isConflict, isInvalid, isRefused, isTransient } from "@keelson/client";
import {
  type AnyKind,
  apiVersionOf,
  type Condition,
  deepCopy,
  deepEqual,
  findCondition,
  formatTime,
  type JsonObject,
  type JsonValue,
  type Stored,
  type Time,
} from "@keelson/core";
import { errorText, isSameJson, jsonProblem } from "@keelson/core/internal";
import type { InventoryEntry, RuntimeStatus, StepRecord } from "@keelson/schema";
import { appliedBy, appliedByOthers } from "../cache/managed-fields.ts";
import type { TrackedClient } from "../cache/tracked-client.ts";
import type { Outcome } from "../controller/outcome.ts";
import { RuntimeError, type RuntimeErrorCode } from "../errors.ts";
import type { ConditionState, Said, StatusMemory } from "./status-memory.ts";

/** The conditions that the runtime keeps on every object. */
export const runtimeConditions = ["Ready", "Reconciling", "Stalled"] as const;

/** How often someone else's edit between our read and our write is met before the queue takes over. */
const attempts = 4;
const messageLimit = 32_768;
const reasonLimit = 1_024;

/** Ready, Reconciling and Stalled, as kstatus reads them. */
export function conditionsOf(outcome: Outcome): ConditionState[] {
  const all = (ready: string, reconciling: string, stalled: string, reason: string, message: string) =>
    [
      { type: "Ready", status: ready, reason, message },
      { type: "Reconciling", status: reconciling, reason, message: reconciling === "True" ? message : "" },
      { type: "Stalled", status: stalled, reason, message: stalled === "True" ? message : "" },
    ] as ConditionState[];
  switch (outcome.outcome) {
    case "done":
      return all("True", "False", "False", "Ready", outcome.message ?? "is as its spec says");
    case "waiting":
      return all("False", "True", "False", outcome.reason, outcome.message);
    case "failed":
      return all("False", "False", "True", outcome.reason, outcome.message);
  }
}

/** What only a change of the object, of the code or of the cluster by a person resolves. */
const stalling: ReadonlySet<RuntimeErrorCode> = new Set([
  "InvalidChild",
  "InvalidStatus",
  "InvalidObject",
  "NotOurs",
  "NotDeclared",
]);

/** What an error says of the object, and whether waiting can resolve it. */
export function outcomeOfError(error: unknown): Outcome {
  const message = errorText(error);
  if (error instanceof RuntimeError) {
    return { outcome: stalling.has(error.code) ? "failed" : "waiting", reason: error.code, message };
  }
  if (isInvalid(error)) return { outcome: "failed", reason: "Invalid", message };
  if (isApiError(error)) return { outcome: "waiting", reason: error.reason || "ReconcileError", message };
  return { outcome: "waiting", reason: "ReconcileError", message };
}

/** Errors that usually pass at the next try: said aloud only when they last. */
export function isPassing(error: unknown, failures: number): boolean {
  return failures < 2 && (isConflict(error) || isTransient(error));
}

export interface StatusDraftOptions {
  readonly kind: AnyKind;
  readonly client: TrackedClient;
  readonly fieldManager: string;
  readonly memory: StatusMemory;
  readonly now: () => number;
  /** `conditions` leaves out what only our own resources have a place for: inventory and steps. */
  readonly mode: "auto" | "conditions";
  /** The object as the cache shows it now, with our own writes. */
  readonly current: () => Stored | undefined;
}

type StatusValue = RuntimeStatus & JsonObject;

/** The status of one object while it is being reconciled; written once at the end, and around each step. */
export class StatusDraft {
  readonly #options: StatusDraftOptions;
  readonly #object: Stored;
  readonly #conditions = new Map<string, ConditionState>();
  #author: JsonObject | undefined;
  #inventory: readonly InventoryEntry[] | undefined;
  #steps: readonly StepRecord[];
  readonly #asked = new Set<string>();

  constructor(object: Stored, options: StatusDraftOptions) {
    this.#object = object;
    this.#options = options;
    this.#steps = statusOf(object).steps ?? [];
  }

  /** Said in several parts, the parts add up: a later one must not silently take away what an earlier one said. */
  setAuthor(status: JsonObject): void {
    const before = this.#options.memory.get(this.#object)?.found?.said.author;
    if (before && !this.#author && isSameJson(status, before)) {
      this.#author = before;
      return;
    }
    const problem = jsonProblem(status, "status");
    if (problem !== undefined) throw new RuntimeError("InvalidStatus", problem);
    this.#author = { ...this.#author, ...deepCopy(status) };
  }

  setCondition(condition: ConditionState): void {
    if ((runtimeConditions as readonly string[]).includes(condition.type)) {
      throw new RuntimeError(
        "InvalidDeclaration",
        `the condition ${condition.type} follows from the outcome; set one of another type`,
      );
    }
    this.#conditions.set(condition.type, { ...condition });
  }

  setInventory(inventory: readonly InventoryEntry[]): void {
    this.#inventory = inventory;
  }

  get steps(): readonly StepRecord[] {
    return this.#steps;
  }

  setSteps(steps: readonly StepRecord[]): void {
    this.#steps = steps;
  }

  /** This run asks for the step. */
  askFor(step: string): void {
    this.#asked.add(step);
  }

  /** At rest: steps that this run did not ask for are over. */
  forgetSteps(): void {
    this.#steps = this.#steps.filter(({ id }) => this.#asked.has(id));
  }

  /** Whether this run says what was said when the status was last found to be there, and nothing has changed since. */
  isThere(outcome: Outcome): boolean {
    const object = this.#options.current() ?? this.#object;
    const found = this.#options.memory.get(object)?.found;
    if (found?.version !== object.metadata.resourceVersion) return false;
    if (object.metadata.uid !== this.#object.metadata.uid) return false;
    return isSameJson(this.#said(outcome), found.said);
  }

  #said(outcome: Outcome): Said {
    return {
      outcome: outcome.outcome,
      reason: outcome.outcome === "done" ? undefined : outcome.reason,
      message: outcome.message,
      author: this.#author,
      conditions: [...this.#conditions.values()],
      inventory: this.#inventory,
      steps: this.#steps,
      generation: this.#object.metadata.generation,
    };
  }

  /**
   * Writes the status unless it is there already; true when something was written. Without an outcome the
   * conditions stay as they are (around steps). `exclusive` refuses when the object changed since we saw it.
   */
  async write(
    outcome: Outcome | undefined,
    options: { signal?: AbortSignal; exclusive?: boolean } = {},
  ): Promise<boolean> {
    const { memory } = this.#options;
    const object = this.#options.current() ?? this.#object;
    if (object.metadata.uid !== this.#object.metadata.uid) return false;
    const there = statusOf(object) as JsonObject;
    const status = withoutEmptied(await this.#body(object, outcome, options.signal), there);
    const { status: last, beside = {} } = memory.get(object) ?? {};
    const same = last
      ? deepEqual(last, status) && covers(there, status) && deepEqual(this.#unsaid(object, status), beside)
      : deepEqual(there, status);
    if (same) {
      this.#remember(object, status, outcome, beside);
      return false;
    }
    const sent = await this.#send(object, status, options);
    const served = sent && (await this.#tidy(sent, status, options.signal));
    if (!served) return false;
    const left = this.#unsaid(served, status);
    if (covers(statusOf(served) as JsonObject, status)) this.#remember(served, status, outcome, left);
    else memory.set(object, status, { beside: left });
    return true;
  }

  #remember(object: Stored, status: JsonObject, outcome: Outcome | undefined, beside: JsonObject): void {
    const version = object.metadata.resourceVersion;
    const found = outcome && { version, said: this.#said(outcome) };
    this.#options.memory.set(object, status, { found, beside });
  }

  /** What stands there and the author does not say, as a merge patch that removes it. Without a word everything stays. */
  #unsaid(object: Stored, status: JsonObject, kept: readonly JsonObject[] = []): JsonObject {
    if (this.#options.mode !== "auto") return {};
    if (this.#author === undefined) return this.#options.memory.get(object)?.beside ?? {};
    const { conditions: _, ...there } = statusOf(object);
    return removal(there as JsonObject, status, kept);
  }

  /** As the server has it, with the owners of its fields, which the cache drops. */
  async #live(object: Stored, signal: AbortSignal | undefined): Promise<Stored | undefined> {
    const { client, kind } = this.#options;
    const ref = { namespace: object.metadata.namespace, name: object.metadata.name };
    return (await client.client.kind(kind).find(ref, signal ? { signal } : {})) as Stored | undefined;
  }

  /**
   * Server-side apply leaves a field that someone else has written, such as a person who put an earlier status back, even
   * when nobody says it any more. What others apply is theirs.
   */
  async #tidy(served: Stored, status: JsonObject, signal?: AbortSignal): Promise<Stored | undefined> {
    const { beside } = this.#options.memory.get(served) ?? {};
    const unsaid = this.#unsaid(served, status);
    if (this.#author === undefined || Object.keys(unsaid).length === 0 || deepEqual(unsaid, beside))
      return served;
    const live = await this.#live(served, signal);
    if (live?.metadata.uid !== served.metadata.uid) return undefined;
    const relics = this.#unsaid(live, status, appliedByOthers(live, this.#options.fieldManager));
    return Object.keys(relics).length === 0 ? served : await this.#patch(live, relics, signal);
  }

  /** The status with the fields of others that the server refuses beside it taken away, all at once. */
  async #replace(object: Stored, status: JsonObject, signal?: AbortSignal): Promise<Stored | undefined> {
    const live = this.#author && (await this.#live(object, signal));
    if (live?.metadata.uid !== object.metadata.uid) return undefined;
    const relics = this.#unsaid(live, status, appliedByOthers(live, this.#options.fieldManager));
    if (Object.keys(relics).length === 0) return undefined;
    const { conditions: _, ...said } = status;
    return await this.#patch(live, merged(said, relics), signal);
  }

  async #patch(live: Stored, status: JsonObject, signal?: AbortSignal): Promise<Stored> {
    const { client, kind, fieldManager } = this.#options;
    const { name, namespace, uid, resourceVersion } = live.metadata;
    const patch = { type: "merge", body: { metadata: { uid, resourceVersion }, status } as never } as const;
    return (await client
      .kind(kind)
      .subresource("status")
      .patch({ namespace, name }, patch, { fieldManager, ...(signal ? { signal } : {}) })) as Stored;
  }

  /**
   * The server does not look at the UID in a status, so only the version binds it to this object and not to another of
   * its name. An edit by someone else in between is looked at and met; undefined when the object is not there any more.
   */
  async #send(
    object: Stored,
    status: JsonObject,
    options: { signal?: AbortSignal; exclusive?: boolean },
  ): Promise<Stored | undefined> {
    const { client, kind, fieldManager } = this.#options;
    const { name, namespace, uid } = object.metadata;
    const signal = options.signal ? { signal: options.signal } : {};
    let { resourceVersion } = object.metadata;
    let replaced = false;
    for (let attempt = 1; ; attempt++) {
      const metadata = { name, namespace, uid, resourceVersion };
      const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, status };
      try {
        return (await client
          .kind(kind)
          .subresource("status")
          .apply(body as never, { force: true, fieldManager, ...signal })) as Stored;
      } catch (error) {
        if (isInvalid(error) && !replaced) {
          const next = await this.#replace(object, status, options.signal);
          if (!next) throw this.#refused(error);
          resourceVersion = next.metadata.resourceVersion;
          replaced = true;
          continue;
        }
        if (isRefused(error)) throw this.#refused(error);
        if (!isConflict(error) || options.exclusive || attempt === attempts) throw error;
        const live = (await client.kind(kind).find({ namespace, name }, signal)) as Stored | undefined;
        if (live?.metadata.uid !== uid) return undefined;
        resourceVersion = live.metadata.resourceVersion;
      }
    }
  }

  /** What the author said is given up, so that a condition can be written that tells of it. */
  #refused(error: ApiError): RuntimeError {
    this.#author = undefined;
    this.#conditions.clear();
    return new RuntimeError("InvalidStatus", `the server refuses the status: ${error.message}`, {
      cause: error,
    });
  }

  async #body(object: Stored, outcome: Outcome | undefined, signal?: AbortSignal): Promise<JsonObject> {
    const current = statusOf(object);
    const { conditions: own, author } = await this.#ours(object, signal);
    const now = formatTime(this.#options.now());
    // What was reconciled, though the cache may show a newer one by now: that one nobody has acted on.
    const generation = outcome ? this.#object.metadata.generation : current.observedGeneration;
    const states = new Map(own.map((condition) => [condition.type, condition as ConditionState]));
    for (const state of outcome ? conditionsOf(outcome) : []) states.set(state.type, state);
    for (const state of this.#conditions.values()) states.set(state.type, state);
    const order = [...runtimeConditions.filter((type) => states.has(type)), ...states.keys()];
    const conditions = [...new Set(order)].map((type) => {
      const state = states.get(type) as ConditionState;
      const untouched = !outcome && !this.#conditions.has(type);
      return untouched
        ? (state as Condition)
        : stamped(state, findCondition(current.conditions, type), generation, now);
    });
    const auto = this.#options.mode === "auto";
    const inventory = this.#inventory ?? current.inventory ?? [];
    return {
      ...(this.#author ?? author),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(conditions.length === 0 ? {} : { conditions: conditions as unknown as JsonObject[] }),
      ...(auto && inventory.length > 0 ? { inventory: inventory as unknown as JsonObject[] } : {}),
      ...(auto && this.#steps.length > 0 ? { steps: this.#steps as unknown as JsonObject[] } : {}),
    };
  }

  /**
   * The author's part and the conditions that this controller wrote before. Asked of the server only when this run
   * leaves some of it unsaid and nothing is remembered: taking it from the whole status could claim another
   * writer's fields, and put back a value that the other has changed since.
   */
  async #ours(
    object: Stored,
    signal: AbortSignal | undefined,
  ): Promise<{ author: JsonObject; conditions: readonly Condition[] }> {
    const current = statusOf(object);
    let known = this.#options.memory.get(object)?.status;
    if (!known) {
      const unsaid = (current.conditions ?? []).some(
        ({ type }) => !(runtimeConditions as readonly string[]).includes(type) && !this.#conditions.has(type),
      );
      const authored = Object.keys(authorPart(current)).length > 0;
      if ((this.#author === undefined && authored) || unsaid) known = await this.#readOwn(object, signal);
    }
    const status = (known ?? { conditions: runtimeOnly(current) }) as StatusValue;
    return { author: authorPart(status), conditions: status.conditions ?? [] };
  }

  async #readOwn(object: Stored, signal: AbortSignal | undefined): Promise<JsonObject> {
    const live = await this.#live(object, signal);
    const own = live && appliedBy(live, this.#options.fieldManager, "status");
    return ((own?.status as JsonObject | undefined) ?? {}) as JsonObject;
  }
}

function statusOf(object: Stored): StatusValue {
  return ((object as { status?: StatusValue }).status ?? {}) as StatusValue;
}

function authorPart(status: StatusValue): JsonObject {
  const { conditions: _, observedGeneration: __, inventory: ___, steps: ____, ...author } = status;
  return author as JsonObject;
}

function runtimeOnly(status: StatusValue): Condition[] {
  return (status.conditions ?? []).filter(({ type }) =>
    (runtimeConditions as readonly string[]).includes(type),
  );
}

function stamped(
  state: ConditionState,
  existing: Condition | undefined,
  generation: number | undefined,
  now: Time,
): Condition {
  return {
    type: state.type,
    status: state.status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: existing?.status === state.status ? existing.lastTransitionTime : now,
    reason: reasonOf(state.reason),
    message:
      state.message.length > messageLimit ? `${state.message.slice(0, messageLimit - 1)}…` : state.message,
  };
}

/** The API allows words here; a sentence that slipped in becomes one word rather than an error. */
function reasonOf(text: string): string {
  const word = text
    .replace(/[^A-Za-z0-9_,:]+/g, "")
    .replace(/^[^A-Za-z]+/, "")
    .replace(/[,:]+$/, "");
  return word === "" ? "Unknown" : word.slice(0, reasonLimit);
}

/** Whether everything we would apply stands there already; others may have written beside it. */
function covers(there: JsonValue | undefined, wanted: JsonValue, path = ""): boolean {
  if (path === "/conditions") {
    const existing = (there ?? []) as unknown as Condition[];
    return (wanted as unknown as Condition[]).every((condition) =>
      deepEqual(findCondition(existing, condition.type), condition),
    );
  }
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) return deepEqual(there, wanted);
  if (typeof there !== "object" || there === null || Array.isArray(there)) return false;
  for (const key in wanted) {
    if (!covers(there[key], wanted[key] as JsonValue, `${path}/${key}`)) return false;
  }
  return true;
}

/**
 * Without maps that have entries at the server and none any more. Server-side apply makes `null` of such a map when its
 * entries are taken away, and then refuses it as invalid. Left out, it goes with its entries.
 */
function withoutEmptied(status: JsonObject, there: JsonObject): JsonObject {
  let out = status;
  for (const key in status) {
    const [value, before] = [status[key], there[key]];
    if (!isMap(value) || !isMap(before)) continue;
    const next = withoutEmptied(value, before);
    const isEmptied = Object.keys(next).length === 0 && Object.keys(before).length > 0;
    if (next === value && !isEmptied) continue;
    const { [key]: _, ...others } = out;
    out = isEmptied ? others : { ...others, [key]: next };
  }
  return out;
}

/** A merge patch that takes away what is there and not wanted, without what these sets of fields hold. */
function removal(there: JsonObject, wanted: JsonObject, kept: readonly JsonObject[]): JsonObject {
  const out: JsonObject = {};
  for (const key in there) {
    const value = there[key];
    const theirs = kept.length === 0 ? kept : kept.map((fields) => fields[`f:${key}`]).filter(isMap);
    const said = wanted[key];
    if (said === undefined && theirs.length === 0) {
      out[key] = null;
      continue;
    }
    if (!isMap(value) || (said !== undefined && !isMap(said))) continue;
    // A set without members holds the whole.
    if (theirs.some((fields) => Object.keys(fields).every((name) => name === "."))) continue;
    const inner = removal(value, said ?? {}, theirs);
    if (Object.keys(inner).length > 0) out[key] = inner;
  }
  return out;
}

/** Both in one merge patch. */
function merged(values: JsonObject, removed: JsonObject): JsonObject {
  const out: JsonObject = { ...values };
  for (const [key, value] of Object.entries(removed)) {
    const before = out[key];
    out[key] = isMap(before) && isMap(value) ? merged(before, value) : value;
  }
  return out;
}

function isMap(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
