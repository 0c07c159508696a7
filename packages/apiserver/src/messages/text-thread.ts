/**
 * YAML, and JSON for people. Short texts are read and printed at once, others on another thread: 200 kilobytes of YAML
 * may take half a minute to read, and a long list seconds to print.
 */
import { Worker } from "node:worker_threads";
import { badRequest, tooManyRequests } from "../contracts/status-error.ts";
import { FairQueue } from "./fair-queue.ts";
import { readYaml, type YamlDocument, YamlError } from "./read-yaml.ts";
import { printed, type TextAnswer, type TextTask } from "./text-worker.ts";

/** No YAML so short keeps the server busy for long. */
const shortYaml = 2048;
const shortJson = 64 * 1024;
/** Three megabytes of ordinary YAML are read in less. */
const maxMs = 20_000;
const maxMemoryMb = 1024;
/** The thread ends when nobody has needed it for so long. */
const idleMs = 10_000;
/** Texts of one user that may wait. */
const mostWaiting = 20;

/** `user` waits for the texts of others, but never for all texts of one of them. Throws 400 for what is no YAML. */
export async function parseYaml(source: string, user: string): Promise<YamlDocument> {
  try {
    if (source.length <= shortYaml) return await readYaml(source);
    const answer = await thread.perform({ read: source }, user);
    if ("document" in answer) return answer.document;
    throw new YamlError("problem" in answer ? answer.problem : "");
  } catch (error) {
    if (error instanceof YamlError) throw badRequest(error.message, error);
    throw error;
  }
}

/** JSON as YAML, or with white space. */
export async function printJson(
  json: Uint8Array,
  as: "yaml" | "indented json",
  user: string,
): Promise<Uint8Array> {
  if (json.length <= shortJson) return Buffer.from(await printed(Buffer.from(json).toString(), as));
  const answer = await thread.perform({ print: json, as }, user);
  if ("text" in answer) return answer.text;
  throw new Error("the text's thread answered another question");
}

interface Waiting {
  readonly task: TextTask;
  readonly resolve: (answer: TextAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** One thread, one text at a time, users in turn. */
class TextThread {
  readonly #waiting = new FairQueue<Waiting>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #busy = false;

  perform(task: TextTask, user: string): Promise<TextAnswer> {
    if (this.#waiting.sizeOf(user) >= mostWaiting)
      throw tooManyRequests("too many long texts are waiting to be read", 1);
    return new Promise((resolve, reject) => {
      this.#waiting.add(user, { task, resolve, reject });
      if (!this.#busy) this.#next();
    });
  }

  #next(): void {
    const next = this.#waiting.take();
    this.#busy = next !== undefined;
    if (!next) return;
    this.#ask(next.task)
      .then(next.resolve, next.reject)
      .finally(() => this.#next());
  }

  #ask(task: TextTask): Promise<TextAnswer> {
    clearTimeout(this.#idle);
    this.#worker ??= startWorker();
    const worker = this.#worker;
    worker.ref();
    return new Promise<TextAnswer>((resolve, reject) => {
      const limit = setTimeout(() => stop(new YamlError("yaml: the text takes too long")), maxMs);
      const done = () => {
        clearTimeout(limit);
        worker.off("error", failed);
        worker.off("message", answered);
        worker.unref();
        this.#idle = setTimeout(() => this.#end(), idleMs).unref();
      };
      const stop = (error: Error) => {
        done();
        this.#end();
        reject(error);
      };
      const failed = (error: NodeJS.ErrnoException) =>
        stop(
          error.code === "ERR_WORKER_OUT_OF_MEMORY"
            ? new YamlError("yaml: the text takes too much memory")
            : error,
        );
      const answered = (answer: TextAnswer) => {
        done();
        resolve(answer);
      };
      worker.on("error", failed);
      worker.on("message", answered);
      worker.postMessage(task);
    });
  }

  #end(): void {
    clearTimeout(this.#idle);
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}

/** In the form that this file has: source in development, compiled when installed. */
function startWorker(): Worker {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return new Worker(new URL(`./text-worker.${extension}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
  });
}

const thread = new TextThread();
