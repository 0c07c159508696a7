/** Which node a user is. */
import type { UserInfo } from "./authentication.ts";

const prefix = "system:node:";

/** Empty for a node that does not say which it is; undefined for a user that is no node. */
export function nodeOf({ name, groups }: UserInfo): string | undefined {
  if (!name.startsWith(prefix) || !groups.includes("system:nodes")) return undefined;
  return name.slice(prefix.length);
}
