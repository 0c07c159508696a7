/** Steps that survive a crash: the intent is stored before, the result after. */
import { formatTime, type JsonValue, parseJson, type Random } from "@keelson/core";
import type { StepRecord } from "@keelson/schema";
import type { StepAttempt } from "../controller/context.ts";
import { RuntimeError } from "../errors.ts";
import type { StatusDraft } from "./status-draft.ts";

export interface StepsOptions {
  /** Of the object whose steps these are. */
  readonly uid: string;
  readonly draft: StatusDraft;
  readonly random: Random;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly check: () => void;
}

/** Results are kept in the status, which all clients read: they are facts to act on, not data to carry. */
const resultLimit = 16_384;

export class Steps {
  readonly #options: StepsOptions;
  /** Status writes of steps that run side by side come one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: StepsOptions) {
    this.#options = options;
  }

  async run<T>(id: string, work: (attempt: StepAttempt) => Promise<T>): Promise<T> {
    const { draft, uid, random, now, signal, check } = this.#options;
    check();
    draft.askFor(id);
    const before = draft.steps.find((step) => step.id === id);
    if (before?.finishedAt !== undefined) {
      return (before.result === undefined ? undefined : parseJson(before.result)) as T;
    }
    const record: StepRecord = before ?? {
      id,
      idempotencyKey: `${uid}/${id}/${random.uuid()}`,
      startedAt: formatTime(now()),
    };
    // Only one who saw the object's latest state may begin: of two leaders one is refused here.
    if (!before) await this.#store(record, true);
    check();
    const result = await work({
      idempotencyKey: record.idempotencyKey,
      resumed: before !== undefined,
      signal,
    });
    check();
    await this.#store({ ...record, finishedAt: formatTime(now()), ...encoded(id, result) }, false);
    return result;
  }

  async #store(record: StepRecord, exclusive: boolean): Promise<void> {
    const { draft, signal } = this.#options;
    const write = this.#writing.then(async () => {
      const others = draft.steps.filter((step) => step.id !== record.id);
      const earlier = draft.steps;
      draft.setSteps([...others, record]);
      try {
        await draft.write(undefined, { signal, exclusive });
      } catch (error) {
        draft.setSteps(earlier);
        throw error;
      }
    });
    this.#writing = write.catch(() => {});
    await write;
  }
}

function encoded(id: string, result: unknown): { result?: string } {
  if (result === undefined) return {};
  const text = JSON.stringify(result as JsonValue);
  if (text.length > resultLimit) {
    throw new RuntimeError(
      "StepTooLarge",
      `step "${id}" returned ${text.length} bytes; at most ${resultLimit} fit into the status: return what ` +
        "identifies the result and keep the rest in a ConfigMap or Secret",
    );
  }
  return { result: text };
}
