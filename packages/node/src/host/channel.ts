/** Questions and answers between the process outside and the one inside the namespace. */

/** One end of a pipe for messages; both `process` and a child process are one. */
export interface MessagePipe {
  send?(message: unknown, callback?: (error: Error | null) => void): unknown;
  on(event: "message", listener: (message: unknown) => void): unknown;
  off(event: "message", listener: (message: unknown) => void): unknown;
}

type Handler = (params: never) => unknown;

interface Question {
  readonly ask: string;
  readonly id: number;
  readonly params: unknown;
}

interface Answer {
  readonly answer: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly code?: string; readonly name?: string };
}

/** An error that happened on the other end, with the code it had there. */
export class RemoteError extends Error {
  readonly code: string | undefined;

  constructor(error: NonNullable<Answer["error"]>) {
    super(error.message);
    this.name = error.name ?? "RemoteError";
    this.code = error.code;
  }
}

export class Channel {
  readonly #port: MessagePipe;
  readonly #handlers: Readonly<Record<string, Handler>>;
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  #asked = 0;

  /** `handlers` answer the other end, by name. */
  constructor(port: MessagePipe, handlers: Readonly<Record<string, Handler>>) {
    this.#port = port;
    this.#handlers = handlers;
    port.on("message", (message) => this.#receive(message as Question | Answer));
  }

  ask<T>(name: string, params?: unknown): Promise<T> {
    const id = this.#asked++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    this.#port.send?.({ ask: name, id, params } satisfies Question, (error) => {
      if (error === null) return;
      this.#waiting.delete(id);
      reject(error);
    });
    return promise as Promise<T>;
  }

  /** The other end is gone: nothing asked will be answered. */
  close(reason: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }

  #receive(message: Question | Answer): void {
    if ("ask" in message) return void this.#answer(message);
    if (!("answer" in message)) return;
    const waiting = this.#waiting.get(message.answer);
    this.#waiting.delete(message.answer);
    if (message.error !== undefined) waiting?.reject(new RemoteError(message.error));
    else waiting?.resolve(message.result);
  }

  async #answer({ ask, id, params }: Question): Promise<void> {
    let answer: Answer;
    try {
      const handler = this.#handlers[ask];
      if (handler === undefined) throw new Error(`nobody answers to ${ask}`);
      answer = { answer: id, result: await handler(params as never) };
    } catch (error) {
      const { message, name, code } = error as Error & { code?: string };
      answer = { answer: id, error: { message, name, ...(typeof code === "string" ? { code } : {}) } };
    }
    // Nobody may be there to hear it any more.
    this.#port.send?.(answer, () => undefined);
  }
}
