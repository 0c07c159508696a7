/** An HTTP port in process that answers by a script and remembers what it was asked. */
import type { HttpPort, HttpRequest, HttpResponse, JsonValue } from "@keelson/core";

export type Answer = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

export class ScriptedHttp implements HttpPort {
  readonly requests: HttpRequest[] = [];
  readonly #answers: Answer[];

  /** Answers in order; the last one answers for ever. */
  constructor(...answers: Answer[]) {
    this.#answers = answers;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    this.requests.push(request);
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    if (answer === undefined) throw new Error("the script has no answer left");
    return await answer(request);
  }

  /** The paths asked for so far, without their host. */
  get paths(): string[] {
    return this.requests.map(({ path }) => path);
  }
}

export function json(value: JsonValue, status = 200, headers: Record<string, string> = {}): Answer {
  return () => ({ status, headers, body: chunks(JSON.stringify(value)) });
}

export function text(value: string, status = 200, headers: Record<string, string> = {}): Answer {
  return () => ({ status, headers, body: chunks(value) });
}

export function failure(
  code: number,
  reason: string,
  message = reason,
  headers: Record<string, string> = {},
): Answer {
  return json({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message }, code, headers);
}

export function broken(error: Error): Answer {
  return () => Promise.reject(error);
}

async function* chunks(...values: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const value of values) yield typeof value === "string" ? Buffer.from(value) : value;
}

export function body(...values: (string | Uint8Array)[]): Answer {
  return () => ({ status: 200, headers: {}, body: chunks(...values) });
}

/** A body that a test writes while it is being read. */
export class LiveBody implements AsyncIterable<Uint8Array> {
  readonly #queue: (Uint8Array | Error | undefined)[] = [];
  #wake: (() => void) | undefined;
  closed = false;
  /** Chunks that a reader has taken. */
  taken = 0;

  get answer(): Answer {
    return (request) => {
      request.signal?.addEventListener("abort", () => this.fail(request.signal?.reason as Error));
      return { status: 200, headers: {}, body: this };
    };
  }

  write(value: string | Uint8Array): void {
    this.#push(typeof value === "string" ? Buffer.from(value) : value);
  }

  event(type: string, object: object): void {
    this.write(`${JSON.stringify({ type, object })}\n`);
  }

  end(): void {
    this.#push(undefined);
  }

  fail(error: Error): void {
    this.#push(error);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        while (this.#queue.length === 0) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
        const next = this.#queue.shift();
        if (next === undefined) return;
        if (next instanceof Error) throw next;
        this.taken++;
        yield next;
      }
    } finally {
      this.closed = true;
    }
  }

  #push(value: Uint8Array | Error | undefined): void {
    this.#queue.push(value);
    this.#wake?.();
  }
}
