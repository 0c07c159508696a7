/** Tokens from a file: `token,user,uid,"group1,group2"` on each line. */
import { readFileSync } from "node:fs";
import type { Authenticator, UserInfo } from "../contracts/authentication.ts";
import { bearerToken } from "../messages/bearer.ts";

export function staticTokens(path: string): Authenticator {
  const users = parseTokenFile(readFileSync(path, "utf8"), path);
  return {
    authenticate({ headers }) {
      const token = bearerToken(headers);
      return token === undefined ? undefined : users.get(token);
    },
  };
}

export function parseTokenFile(text: string, path: string): Map<string, UserInfo> {
  const users = new Map<string, UserInfo>();
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const record = splitRecord(line);
    if (record.length < 3)
      throw new Error(
        `token file '${path}' must have at least 3 columns (token, user name, user uid), found ${record.length}`,
      );
    const [token = "", name = "", uid = "", groups] = record;
    if (token === "") continue;
    users.set(token, { name, ...(uid && { uid }), groups: groups === undefined ? [] : groups.split(",") });
  }
  return users;
}

/** Fields of one line of comma-separated values; a quoted field may hold commas and doubled quotes. */
function splitRecord(line: string): string[] {
  const fields: string[] = [];
  let at = 0;
  while (at <= line.length) {
    if (line[at] === '"') {
      let field = "";
      at++;
      for (; at < line.length; at++) {
        if (line[at] !== '"') field += line[at];
        else if (line[at + 1] === '"') {
          field += '"';
          at++;
        } else break;
      }
      fields.push(field);
      at = line.indexOf(",", at);
      if (at < 0) break;
      at++;
    } else {
      const end = line.indexOf(",", at);
      fields.push(line.slice(at, end < 0 ? undefined : end));
      if (end < 0) break;
      at = end + 1;
    }
  }
  return fields;
}
