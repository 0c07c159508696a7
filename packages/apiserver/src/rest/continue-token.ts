/** Continue tokens: where the next page starts, and of which snapshot. */
import { type JsonValue, parseJson } from "@keelson/core";
import { goValue } from "../contracts/field-error.ts";
import { badRequest } from "../contracts/status-error.ts";

export interface ContinueToken {
  /** The snapshot's revision; -1 for a continuation that accepts what has changed since. */
  readonly revision: number;
  /** Keys from here on, relative to the listed prefix. */
  readonly start: string;
}

export function encodeContinue({ revision, start }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start })).toString("base64url");
}

export function decodeContinue(text: string): ContinueToken {
  const fail = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`);
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) {
    const bad = text.search(/[^A-Za-z0-9_-]/);
    throw fail(`illegal base64 data at input byte ${bad < 0 ? text.length - 1 : bad}`);
  }
  const decoded = Buffer.from(text, "base64url");
  let token: { v?: JsonValue; rv?: JsonValue; start?: JsonValue };
  try {
    token = parseJson(decoded.toString()) as typeof token;
  } catch {
    const first = String.fromCharCode(decoded[0] ?? 0);
    throw fail(`invalid character '${first}' looking for beginning of value`);
  }
  if (token === null || typeof token !== "object") throw fail("json: cannot unmarshal the token");
  if (token.v !== "meta.k8s.io/v1")
    throw badRequest(
      `invalid continue token: continue key is not valid: server does not recognize this encoded version "${goValue(token.v ?? "")}"`,
    );
  const { rv, start } = token;
  if (typeof rv !== "number" || rv === 0)
    throw badRequest(
      "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    );
  if (typeof start !== "string" || start === "")
    throw badRequest(
      "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
    );
  if (start.split("/").some((part) => part === ".." || part === "."))
    throw badRequest(`invalid continue token: continue key is not valid: ${start}`);
  return { revision: rv, start };
}
