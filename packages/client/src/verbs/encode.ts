/** From a value to the body of a request. */
import { jsonProblem } from "@keelson/core/internal";
import { ClientError } from "../errors.ts";

/** The value as JSON. What JSON would drop or change without a word is refused, with its path. */
export function encode(body: unknown, doing: string): string {
  const problem = jsonProblem(body, "");
  if (problem !== undefined) throw new ClientError("InvalidRequest", `cannot ${doing}: ${problem}`);
  return JSON.stringify(body);
}
