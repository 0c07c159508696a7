import type { PodSpec } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { asksForOthers, resizeMessage, shortageOf, withResourcesOf } from "./resize.ts";

const spec = (cpu: string, memory = "0", image = "app:1"): PodSpec => ({
  containers: [{ name: "c", image, resources: { requests: { cpu, memory } } }],
});
const node = { cpu: "2", memory: "1Gi" };

describe("a resize", () => {
  test("is granted up to the last of what others leave", () => {
    expect(shortageOf(spec("500m"), [spec("1"), spec("500m")], node)).toBeUndefined();
    expect(shortageOf(spec("501m"), [spec("1"), spec("500m")], node)).toBe(
      "Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
    );
    expect(shortageOf(spec("1m", "2Gi"), [], node)).toBe(
      "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
    );
  });

  test("is none when only an image changes, and leaves the resources as they were when it is deferred", () => {
    expect(asksForOthers(spec("1"), spec("1", "0", "app:2"))).toBe(false);
    expect(asksForOthers(spec("1"), spec("2"))).toBe(true);
    expect(withResourcesOf(spec("1"), spec("2", "0", "app:2"))).toEqual(spec("1", "0", "app:2"));
  });

  test("is told with what it asks for", () => {
    const pending = { reason: "Deferred", message: "no room", generation: 3 } as const;
    expect(resizeMessage(spec("2"), pending)).toBe(
      'Pod resize Deferred: {"containers":[{"name":"c","resources":{"requests":{"cpu":"2","memory":"0"}}}],' +
        '"generation":3,"error":"no room"}',
    );
  });
});
