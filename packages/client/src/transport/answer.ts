/** An answer as a whole: its bytes, and the Status of one that is a refusal. */
import { type HttpHeaders, type HttpResponse, parseJson, type Status } from "@keelson/core";
import { ResponseBody } from "./response-body.ts";
import type { ResponseHead } from "./response-parser.ts";

/** A response whose head has come, and whose body may be on its way. */
export class Answer implements HttpResponse {
  readonly body: ResponseBody;
  readonly #head: ResponseHead;

  constructor(head: ResponseHead, body: ResponseBody) {
    this.#head = head;
    this.body = body;
  }

  get status(): number {
    return this.#head.status;
  }

  get headers(): HttpHeaders {
    return this.#head.headers;
  }
}

/** The server's `Status`, or one made of what a proxy said instead. */
export function statusOf(text: string, code: number): Status {
  try {
    const value: unknown = parseJson(text);
    if (typeof value === "object" && value !== null && (value as Status).kind === "Status") {
      return { ...(value as Status), code: (value as Status).code ?? code };
    }
  } catch {
    // Not JSON: plain words from the server's router or a proxy, taken as they are.
  }
  return { status: "Failure", code, message: text.trim().slice(0, 1000) };
}

/** The body, where all of it has come. */
export function wholeOf({ body }: HttpResponse): Buffer | undefined {
  return body instanceof ResponseBody && body.isWhole ? body.takeWhole() : undefined;
}

/** Gathers a body, up to `most` bytes when told. */
export async function collect(response: HttpResponse, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const whole = wholeOf(response);
  if (whole) return whole;
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    parts.push(chunk);
    length += chunk.byteLength;
    if (length > most) break;
  }
  const only = parts[0];
  if (parts.length === 1 && only) return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
  return Buffer.concat(parts, length);
}
