import { expect, test } from "vitest";
import type { Status } from "../api/sampledb.ts";
import { observedFixture } from "../decide/fixture.ts";
import { serversToMake } from "./servers-to-run.ts";

const upgrade: Status["upgrade"] = {
  ...{ from: "7.0", to: "8.0", id: "x", phase: "Replicas", pointOfNoReturn: false },
  since: "2026-01-01T00:00:00Z",
};
const servers = (status: Status, set: { tried: boolean; present: number }) =>
  serversToMake(observedFixture({ replicas: 1, status }), new Map(), set);

test("a server that an upgrade adds is made when its template was tried", () => {
  expect(servers({ upgrade }, { tried: false, present: 2 })).toBe(2);
  expect(servers({ upgrade }, { tried: true, present: 2 })).toBe(3);
});

test("a server that an upgrade has added stays while another template is tried, and goes with the upgrade", () => {
  expect(servers({ upgrade }, { tried: false, present: 3 })).toBe(3);
  expect(servers({}, { tried: false, present: 3 })).toBe(2);
});

test("servers of the spec are made whatever is tried", () => {
  expect(servers({ upgrade }, { tried: false, present: 0 })).toBe(2);
  expect(servers({}, { tried: false, present: 1 })).toBe(2);
});
