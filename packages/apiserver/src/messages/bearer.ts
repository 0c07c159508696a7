/** The token that a request carries. */
import type { HttpHeaders } from "@keelson/core";

const websocketPrefix = "base64url.bearer.authorization.k8s.io.";

/** From the Authorization header, or from the subprotocol that browsers send with a WebSocket. */
export function bearerToken(headers: HttpHeaders): string | undefined {
  const authorization = first(headers.authorization)?.trim();
  if (authorization) {
    const space = authorization.indexOf(" ");
    if (space < 0 || authorization.slice(0, space).toLowerCase() !== "bearer") return undefined;
    return authorization.slice(space + 1).trim() || undefined;
  }
  const protocols = first(headers["sec-websocket-protocol"]);
  if (!protocols?.includes(websocketPrefix)) return undefined;
  for (const part of protocols.split(",")) {
    const name = part.trim();
    if (name.startsWith(websocketPrefix))
      return Buffer.from(name.slice(websocketPrefix.length), "base64url").toString() || undefined;
  }
  return undefined;
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : value[0];
}
