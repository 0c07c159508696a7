import { describe, expect, it } from "vitest";
import { configMap, configMaps, Server } from "./harness.ts";

async function play(): Promise<string> {
  await using server = await Server.start();
  const out: string[] = [];
  const note = async (answer: Promise<{ status: number; text: string }>) => {
    const { status, text } = await answer;
    out.push(`${status} ${text}`);
  };
  await note(server.post(configMaps, configMap("a", { k: "1" })));
  await note(server.post(configMaps, { metadata: { generateName: "g-" } }));
  await server.clock.advance(5000);
  await note(server.apply(`${configMaps}/b`, configMap("b", { x: "1" }), "m1"));
  await note(server.merge(`${configMaps}/a`, { data: { k: "2" } }));
  await note(server.get(configMaps));
  await note(server.get("/api/v1/namespaces"));
  return out.join("\n");
}

describe("under a clock and randomness of the test's own", () => {
  it("answers the same bytes in every run", async () => {
    expect(await play()).toBe(await play());
  });
});
