/** An answer as a whole: its bytes, and the Status of one that is a refusal. */
import { type HttpResponse, parseJson, type Status } from "@keelson/core";
import { ResponseBody } from "./response-body.ts";

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

/** Gathers a body, up to `most` bytes when told. */
export async function collect(response: HttpResponse, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
  if (response.body instanceof ResponseBody && response.body.isWhole) return response.body.takeWhole();
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
