/** Runs one controller: from a key to an outcome, and from the outcome to the status. */

import { deepEqual, groupKind, keyOf, objectKey, parseKey, type Random, type Stored } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { InventoryEntry, Resource, RuntimeStatus } from "@keelson/schema";
import { type Change, type Informer, settleAll } from "../cache/informer.ts";
import { TrackedClient } from "../cache/tracked-client.ts";
import { AppliedRecords } from "../children/applied-objects.ts";
import { Applier } from "../children/applier.ts";
import { isShortened, ownerLabelValue } from "../children/child-body.ts";
import { composeAndRealise, inventoryOf, isOutcome, pruneRetired } from "../children/composition.ts";
import { inPlace, isOrphaned, lostMeanwhile, missingChildren, restoreMarks } from "../children/marks.ts";
import { OwnedChildren, ownerIndex, ownerIndexValues } from "../children/owned-children.ts";
import type { Cause, Decoration } from "../controller/context.ts";
import type { Backoff, Controller } from "../controller/controller.ts";
import type { PollRead } from "../controller/declaration.ts";
import { controllerLabel, ownerLabel, ownerNamespaceLabel } from "../controller/labels.ts";
import type { Outcome } from "../controller/outcome.ts";
import { PermissionCheck } from "../controller/permissions.ts";
import { causeOf } from "../controller/raw-controller.ts";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { WorkItem } from "../queue/work-queue.ts";
import { isPassing, outcomeOfError, StatusDraft } from "../status/status-draft.ts";
import { StatusMemory } from "../status/status-memory.ts";
import { type Scope, withDeadline } from "./deadline.ts";
import { decorate } from "./decorate.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "./finalizer.ts";
import type { LoopDefinition, LoopWatch, Trigger, Verdict } from "./loop.ts";
import { Pollers } from "./pollers.ts";
import { ReadSet } from "./reads.ts";
import { ReconcileContext } from "./reconcile-context.ts";
import type { Services } from "./services.ts";

/** The status is written even when the time of the reconcile itself is up. */
const statusTimeoutMs = 30_000;

/** One reconcile of one object. */
interface Run {
  readonly object: Stored;
  readonly item: WorkItem<Cause>;
  /** The object is being deleted: `finalize` runs. */
  readonly deleted: boolean;
  /** Absent when the controller writes its status itself. */
  readonly draft: StatusDraft | undefined;
  /** Delays after which the object is looked at again; the shortest counts. */
  readonly rechecks: number[];
}

/** What a run works with. */
interface RunTools {
  readonly children: OwnedChildren;
  readonly applier: Applier;
  readonly reads: Readonly<Record<string, unknown>>;
  readonly scope: Scope;
  /** Throws once the reconcile is over. */
  readonly check: () => void;
  /** It was deleted with `--cascade=orphan`; undefined where nobody knows. */
  readonly orphaned: boolean | undefined;
  /** What the reconcile puts on the object itself. */
  readonly decorations: Decoration[];
}

export class Reconciler implements LoopDefinition {
  readonly calms = true;
  readonly #controller: Controller;
  readonly #services: Services;
  readonly #primary: Informer;
  readonly #owned = new Map<string, Informer>();
  readonly #reads: ReadSet;
  readonly #pollers: Pollers | undefined;
  /** All caches that a run looks at. */
  readonly #informers: readonly Informer[];
  readonly #retires: boolean;
  readonly #client: TrackedClient;
  readonly #permissions: PermissionCheck;
  readonly #fieldManager: string;
  readonly #records = new AppliedRecords();
  readonly #memory = new StatusMemory();
  readonly #log: Logger;
  readonly #random: Random;
  /** Whether objects that are being deleted were seen to leave their children (`--cascade=orphan`) or to take them along. */
  readonly #leaving = new Map<string, "orphans" | "collected">();
  readonly #decorated = new Map<string, string>();
  /** Children of unknown slots that were spoken of already. */
  readonly #reported = new Set<string>();

  constructor(controller: Controller, services: Services) {
    this.#controller = controller;
    this.#services = services;
    this.#fieldManager = controller.options.fieldManager;
    this.#log = services.log.child({ controller: controller.name });
    this.#permissions = new PermissionCheck(controller);
    this.#random = services.random.fork(`controller/${controller.name}`);
    this.#client = new TrackedClient({ client: services.client, informers: services.informers });
    const { kind, options } = controller;
    const here = (scope: "Namespaced" | "Cluster") =>
      services.namespace !== undefined && scope === "Namespaced" ? { namespace: services.namespace } : {};
    const labels = options.labels === undefined ? {} : { labels: options.labels };
    this.#primary = services.informers.for(kind, { ...here(kind.scope), ...labels }) as unknown as Informer;
    for (const [slot, owned] of Object.entries(controller.owns)) {
      const scope = { ...here(owned.kind.scope), labels: `${controllerLabel}=${controller.name}` };
      const informer = services.informers.for(owned.kind, scope, this.#fieldManager) as unknown as Informer;
      informer.cache.addIndex(ownerIndex, ownerIndexValues);
      this.#owned.set(slot, informer);
    }
    this.#reads = new ReadSet(controller, this.#primary, services, this.#client);
    this.#informers = [...new Set([this.#primary, ...this.#owned.values(), ...this.#reads.informers])];
    this.#retires = Object.values(controller.owns).some(({ retired }) => retired);
    const polls = Object.entries(controller.reads).filter(([, { role }]) => role === "poll");
    this.#pollers =
      polls.length === 0
        ? undefined
        : new Pollers({
            primary: this.#primary,
            polls: new Map(polls as unknown as [string, PollRead<Stored>][]),
            clock: services.clock,
            random: this.#random.fork("polls"),
            log: this.#log,
          });
  }

  get name(): string {
    return this.#controller.name;
  }

  get concurrency(): number {
    return this.#controller.options.concurrency;
  }

  get backoff(): Backoff {
    return this.#controller.options.backoff;
  }

  get resyncMs(): number {
    return this.#controller.options.resyncMs;
  }

  get watches(): LoopWatch[] {
    const children = [...new Set(this.#owned.values())].map((informer) => ({
      informer,
      map: (change: Change) => this.#owners(informer, change),
    }));
    return [
      { informer: this.#primary, map: (change) => this.#self(change) },
      ...children,
      ...this.#reads.watches(),
    ];
  }

  begin(enqueue: (key: string, cause: Cause) => void): () => void {
    return this.#pollers?.start(enqueue) ?? (() => {});
  }

  has(key: string): boolean {
    return this.#primary.cache.uidOf(key) !== undefined;
  }

  keys(): Iterable<string> {
    return [...this.#primary.cache.keys()];
  }

  release(): void {
    this.#reads.release();
  }

  async process(item: WorkItem<Cause>, stop: AbortSignal): Promise<Verdict> {
    if (this.#informers.some(({ cache }) => cache.doubted.size > 0)) await settleAll(this.#informers, stop);
    const object = this.#primary.cache.get(item.key);
    if (!object) {
      this.#memory.forget(item.key);
      return { gone: true };
    }
    const deleted = object.metadata.deletionTimestamp !== undefined;
    if (deleted && !(this.#controller.finalize && hasFinalizer(object, this.#controller.options.finalizer)))
      return {};
    return await this.#run(object, item, deleted, stop);
  }

  // ------------------------------------------------------------------------------------ one run

  async #run(found: Stored, item: WorkItem<Cause>, deleted: boolean, stop: AbortSignal): Promise<Verdict> {
    const { clock } = this.#services;
    const { timeoutMs } = this.#controller.options;
    const rechecks: number[] = [];
    let draft: StatusDraft | undefined;
    try {
      const outcome = await withDeadline(
        {
          clock,
          timeoutMs,
          signal: stop,
          expired: () => this.#tooLong(item.key),
          stragglers: this.#services.stragglers,
        },
        async (scope) => {
          const object =
            this.#controller.finalize && !deleted && !hasFinalizer(found, this.#controller.options.finalizer)
              ? await addFinalizer(found, this.#finalizerOptions(scope.signal))
              : found;
          draft = this.#draft(object);
          if (this.#reads.loads) await this.#reads.load(object, scope.signal);
          return await this.#reconcile({ object, item, deleted, draft, rechecks }, scope);
        },
      );
      if (deleted && outcome.outcome === "done") {
        await removeFinalizer(found, this.#finalizerOptions(stop));
        return {};
      }
      await this.#settle(found, draft, outcome, stop);
      const failed = outcome.outcome === "failed";
      if (!failed && outcome.recheckMs !== undefined) rechecks.push(outcome.recheckMs);
      const recheck = rechecks.length === 0 ? {} : { recheckMs: Math.max(0, Math.min(...rechecks)) };
      return failed ? { result: "terminal", outcome, ...recheck } : { outcome, ...recheck };
    } catch (met) {
      if (stop.aborted) throw met;
      // Its deletion is on its way to us, or has arrived: that brings it back.
      if (met instanceof RuntimeError && met.code === "OwnerGone") return {};
      const error = this.#explained(found, met);
      await this.#fail(found, draft ?? this.#draft(found), error, item, stop);
      return { failed: { error } };
    }
  }

  async #reconcile(run: Run, scope: Scope): Promise<Outcome> {
    const { object, deleted, draft } = run;
    const check = () => {
      if (scope.aborted) throw ended(scope.reason);
    };
    const children = new OwnedChildren(this.#controller, this.#owned, object);
    const orphaned = deleted ? this.#isOrphaned(object) : false;
    const missing = orphaned ? [] : missingChildren(this.#controller, object, children);
    const [controller, client, fieldManager] = [this.#controller, this.#client, this.#fieldManager];
    const gone =
      missing.length === 0
        ? []
        : await restoreMarks(
            { controller, owner: object, client, fieldManager, signal: scope.signal },
            missing,
          );
    const applier = new Applier({
      controller: this.#controller,
      owner: object,
      ownerNow: () => this.#now(object),
      client: this.#client,
      children,
      informers: this.#owned,
      records: this.#records,
      scope,
      check,
    });
    const reads = this.#reads.of(object, () => this.#primary.cache.get(objectKey(object)) ?? object);
    if (this.#pollers) this.#addPolls(this.#pollers, reads, object);
    const decorations: Decoration[] = [];
    const tools = { children, applier, reads, scope, check, orphaned, decorations };
    const outcome =
      this.#controller.compose && !deleted
        ? await this.#compose(this.#controller.compose, run, tools)
        : await this.#call(run, tools);
    check();
    if (!deleted && this.#retires) await pruneRetired(this.#controller, children, applier);
    if (this.#controller.options.decorates && !deleted) {
      const memory = this.#decorated;
      await decorate(object, decorations, { ...this.#finalizerOptions(scope.signal), memory });
    }
    draft?.setInventory(
      this.#inventory(object, children, {
        isGone: (entry) => gone.includes(entry) || applier.hasDeleted(entry.uid),
        placeOf: (uid) => applier.placeOf(uid),
      }),
    );
    if (outcome.outcome === "done") draft?.forgetSteps();
    return outcome;
  }

  async #compose(compose: NonNullable<Controller["compose"]>, run: Run, tools: RunTools): Promise<Outcome> {
    const { object, draft } = run;
    const { children, applier, reads } = tools;
    return await composeAndRealise(
      { controller: this.#controller, owner: object, children, applier },
      () => {
        const observed = { ...this.#observed(children), ...reads };
        const now = new Date(this.#services.clock.now());
        const result = compose(object as never, observed as never, { now });
        if (!result || typeof result !== "object") throw this.#nothing("compose", result);
        if (!isOutcome(result) && !result.children) throw this.#childless(result);
        return result;
      },
      (status) => draft?.setAuthor(status as never),
    );
  }

  /** Calls `reconcile`, or `finalize` for an object that is being deleted. */
  async #call({ object, item, deleted, draft, rechecks }: Run, tools: RunTools): Promise<Outcome> {
    const { clock, connect, mayWrite, controllers } = this.#services;
    const { check, scope } = tools;
    const context = new ReconcileContext({
      ...tools,
      controller: this.#controller,
      object,
      granted: {
        client: this.#client,
        permissions: this.#permissions,
        check,
        scope,
        fieldManager: this.#fieldManager,
        written: (written) => tools.applier.notice(written),
      },
      draft,
      causes: item.causes,
      clock,
      random: this.#random,
      log: () => this.#log.child({ key: item.key }),
      connect,
      mayWrite,
      controllers,
      recheck: (afterMs) => rechecks.push(afterMs),
      decorations: tools.decorations,
      event: (type, reason, message) => this.#event(object, type, reason, message),
    });
    const work = deleted ? this.#controller.finalize : this.#controller.reconcile;
    const outcome = (await work?.(object as never, context as never)) as Outcome;
    if (!outcome || !isOutcome(outcome)) throw this.#nothing(deleted ? "finalize" : "reconcile", outcome);
    return outcome;
  }

  #isOrphaned(object: Stored): boolean | undefined {
    const seen = this.#leaving.get(object.metadata.uid);
    return seen === undefined ? isOrphaned(this.#controller, object, this.#owned) : seen === "orphans";
  }

  #addPolls(pollers: Pollers, reads: object, object: Stored): void {
    for (const [slot, { role }] of Object.entries(this.#controller.reads)) {
      if (role !== "poll") continue;
      const value = pollers.value(slot, objectKey(object));
      Object.defineProperty(reads, slot, { enumerable: true, value });
    }
  }

  #observed(children: OwnedChildren): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(this.#controller.owns).map(([slot, { many }]) => [
        slot,
        many ? children.entries(slot) : children.get({ slot, key: "" }),
      ]),
    );
  }

  /** A write of ours that is in doubt says nothing against the object. */
  #now(object: Stored): Stored | undefined {
    const { cache } = this.#primary;
    const key = objectKey(object);
    return cache.doubted.has(key) ? object : cache.get(key);
  }

  /** Children of slots that this release does not know stay on record, so that a person or a later release finds them. */
  #inventory(
    object: Stored,
    children: OwnedChildren,
    known: { isGone: (entry: InventoryEntry) => boolean; placeOf: Applier["placeOf"] },
  ) {
    const recorded = (object as { status?: RuntimeStatus }).status?.inventory ?? [];
    const there = inventoryOf(this.#controller, children);
    const seen = inPlace(this.#controller, recorded, there, known.placeOf);
    const kept = lostMeanwhile(recorded, seen, known.isGone);
    for (const entry of kept) if (!(entry.slot in this.#controller.owns)) this.#reportLeft(object, entry);
    return [...seen, ...kept];
  }

  #reportLeft(object: Stored, { slot, kind, name, uid }: InventoryEntry): void {
    if (this.#reported.has(uid)) return;
    this.#reported.add(uid);
    const message =
      `${kind} ${name} was made by a release that had the slot "${slot}"; declare ${slot}: retired(${kind}) to have ` +
      "it deleted, or delete it yourself";
    this.#log.warn(message, { key: objectKey(object) });
    this.#event(object, "Warning", "LeftBehind", message);
  }

  // ------------------------------------------------------------------------------------ its status

  #draft(object: Stored): StatusDraft | undefined {
    const { kind, options } = this.#controller;
    if (options.status === "manual") return undefined;
    return new StatusDraft(object, {
      kind,
      client: this.#client,
      fieldManager: this.#fieldManager,
      memory: this.#memory,
      now: () => this.#services.clock.now(),
      mode: options.status,
      current: () => this.#primary.cache.get(objectKey(object)),
    });
  }

  async #settle(
    object: Stored,
    draft: StatusDraft | undefined,
    outcome: Outcome,
    stop: AbortSignal,
  ): Promise<void> {
    const wrote = await this.#write(draft, outcome, stop);
    if (wrote && outcome.outcome === "failed") {
      this.#event(object, "Warning", outcome.reason, outcome.message);
    }
  }

  async #fail(
    object: Stored,
    draft: StatusDraft | undefined,
    error: unknown,
    item: WorkItem<Cause>,
    stop: AbortSignal,
  ): Promise<void> {
    if (isPassing(error, item.failures)) return;
    const outcome = outcomeOfError(error);
    try {
      const wrote = await this.#write(draft, outcome, stop);
      if (wrote && outcome.outcome !== "done") {
        this.#event(object, "Warning", outcome.reason, outcome.message);
      }
    } catch (second) {
      // The first error decides what happens next; the retry writes the status again.
      this.#log.warn("the status could not be written", { key: item.key, error: second });
    }
  }

  async #write(draft: StatusDraft | undefined, outcome: Outcome, stop: AbortSignal): Promise<boolean> {
    if (!draft || draft.isThere(outcome)) return false;
    return await withDeadline(
      {
        clock: this.#services.clock,
        timeoutMs: statusTimeoutMs,
        signal: stop,
        expired: () => new RuntimeError("ReconcileTimeout", "the status could not be written in time"),
      },
      (scope) => draft.write(outcome, { signal: scope.signal }),
    );
  }

  #event(object: Stored, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#services.events.record(this.name, object, type, reason, message);
  }

  // ------------------------------------------------------------------------------------ its triggers
  // What a run of this controller wrote, or compared with what it wants, is no news to it: such an event comes behind what is.
  // Where much is to be done, the events of all that a run wrote are one look then, and not one each.

  #self(change: Change): readonly Trigger[] {
    if (change.type === "deleted" && this.#decorated.size > 0)
      this.#decorated.delete(change.object.metadata.uid);
    if (this.#reads.keeps && change.previous) this.#reads.released(change.previous);
    const { uid, deletionTimestamp, finalizers } = change.object.metadata;
    if (change.type === "deleted") this.#leaving.delete(uid);
    else if (deletionTimestamp !== undefined && finalizers?.includes("orphan"))
      this.#leaving.set(uid, "orphans");
    else if (deletionTimestamp !== undefined && finalizers?.includes("foregroundDeletion"))
      this.#leaving.set(uid, "collected");
    const previous = change.type === "modified" ? change.previous : undefined;
    const patient = previous !== undefined && onlyStatusDiffers(previous, change.object);
    const { object, resourceVersion: version } = change;
    const seen = () => this.#memory.get(object)?.found?.version === version;
    return [{ key: change.key, cause: causeOf(this.#controller.kind, change, true), patient, seen }];
  }

  #owners(informer: Informer, change: Change): readonly Trigger[] {
    if (change.type === "deleted") this.#records.delete(informer.kind, change.key);
    const cause: Cause = { ...causeOf(informer.kind, change, false), type: "child" };
    const { key: child, resourceVersion: version } = change;
    const seen = () => this.#records.origin(informer.kind, child)?.version === version;
    const { object, previous } = change;
    const keys = this.#ownerKeys(object);
    // The event of our own write shows what was seen already.
    if (previous && previous !== object) for (const key of this.#ownerKeys(previous)) keys.add(key);
    const triggers: Trigger[] = [];
    for (const key of keys) {
      if (this.#primary.cache.uidOf(key) !== undefined) triggers.push({ key, cause, seen });
    }
    return triggers;
  }

  /** By name and not by UID: an owner that was made again waits for the children of the earlier one to go. */
  #ownerKeys(child: Stored): Set<string> {
    const keys = new Set<string>();
    const owner = child.metadata.ownerReferences?.find(({ controller }) => controller);
    if (owner?.kind === this.#controller.kind.kind) keys.add(this.#keyBeside(child, owner.name));
    const label = child.metadata.labels?.[ownerLabel];
    if (label !== undefined) for (const key of this.#named(child, label)) keys.add(key);
    return keys;
  }

  /** The key of a primary of this name that may own the child. */
  #keyBeside(child: Stored, name: string): string {
    const { namespace, labels } = child.metadata;
    const home = labels?.[ownerNamespaceLabel] ?? namespace;
    return keyOf({ namespace: this.#controller.kind.scope === "Cluster" ? undefined : home, name });
  }

  /** An index by name would have every object of a large cache looked at; only long names are not in the label whole. */
  *#named(child: Stored, label: string): Iterable<string> {
    yield this.#keyBeside(child, label);
    if (!isShortened(label)) return;
    for (const key of this.#primary.cache.keys()) {
      const { name } = parseKey(key);
      if (
        name.length > label.length &&
        ownerLabelValue(name) === label &&
        key === this.#keyBeside(child, name)
      ) {
        yield key;
      }
    }
  }

  // ------------------------------------------------------------------------------------ its errors

  #finalizerOptions(signal: AbortSignal) {
    return {
      kind: this.#controller.kind,
      client: this.#client,
      finalizer: this.#controller.options.finalizer,
      fieldManager: this.#fieldManager,
      signal,
    };
  }

  #tooLong(key: string): RuntimeError {
    const { timeoutMs } = this.#controller.options;
    return new RuntimeError(
      "ReconcileTimeout",
      `the reconcile of ${groupKind(this.#controller.kind)} ${key} did not end within ${timeoutMs / 1000} s; pass ` +
        "ctx.signal to what it waits for, or return waiting() and let a watch or recheckMs bring it back",
    );
  }

  #childless(value: object): RuntimeError {
    return new RuntimeError(
      "NoOutcome",
      `compose of controller "${this.name}" returned ${JSON.stringify(value)}, which has no children; return ` +
        "{ children: { … } } with all that should be, or waiting() or fail()",
    );
  }

  /** A field that objects of an earlier release lack shows as a TypeError: say which field it is. */
  #explained(object: Stored, error: unknown): unknown {
    const { kind } = this.#controller;
    if (!(error instanceof TypeError) || !("parse" in kind)) return error;
    try {
      (kind as Pick<Resource, "parse">).parse(object);
      return error;
    } catch (misfit) {
      return new RuntimeError(
        "InvalidObject",
        `the stored object does not fit its schema: ${errorText(misfit)}; give a new field a default, or make it ` +
          `optional (the reconcile met: ${error.message})`,
        { cause: error },
      );
    }
  }

  #nothing(what: string, value: unknown): RuntimeError {
    const shown = value === undefined ? "nothing" : JSON.stringify(value);
    return new RuntimeError(
      "NoOutcome",
      `${what} of controller "${this.name}" returned ${shown}; it must end with done(), waiting() or fail()`,
    );
  }
}

/** After its end a reconcile may still be running, unheard: it must not reach anything any more. */
function ended(reason: unknown): RuntimeError {
  const why = errorText(reason);
  return new RuntimeError("Ended", `this reconcile is over and can do nothing more: ${why}`, {
    cause: reason,
  });
}

function onlyStatusDiffers(before: Stored, after: Stored): boolean {
  const { generation } = after.metadata;
  if (generation === undefined || before.metadata.generation !== generation) return false;
  // The event of our own write shows what was seen already.
  if (before === after) return true;
  return (
    ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "uid"] as const
  ).every((field) => deepEqual(before.metadata[field], after.metadata[field]));
}
