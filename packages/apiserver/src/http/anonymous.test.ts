import { describe, expect, it } from "vitest";
import { type ApiServerOptions, apiServer } from "../index.ts";

async function statusOf(flags: ApiServerOptions["flags"], headers: Record<string, string>): Promise<number> {
  await using server = await apiServer({ flags });
  const target = "/api/v1/namespaces/default";
  const answer = await server.dispatch({
    method: "GET",
    target,
    headers,
    body: async () => new Uint8Array(),
    signal: new AbortController().signal,
    canUpgrade: false,
  });
  return answer.status;
}

describe("a request without a user", () => {
  it("is nobody's, whatever else it says of itself", async () => {
    expect(await statusOf({}, {})).toBe(403);
    expect(await statusOf({}, { authorization: "Basic YTpi" })).toBe(403);
    expect(await statusOf({}, { authorization: "Bearer" })).toBe(403);
  });

  it("is refused with a token that nobody knows", async () => {
    expect(await statusOf({}, { authorization: "Bearer rubbish" })).toBe(401);
  });

  it("is refused where everybody may do everything", async () => {
    expect(await statusOf({ "authorization-mode": "RBAC,AlwaysAllow" }, {})).toBe(401);
  });
});
