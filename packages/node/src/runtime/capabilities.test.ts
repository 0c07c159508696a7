import { expect, test } from "vitest";
import { allCapabilities, effectiveCapabilities } from "./capabilities.ts";

test("without changes a container has the engines' default set", () => {
  expect(effectiveCapabilities({}, false)).toHaveLength(14);
  expect(effectiveCapabilities({}, false)).not.toContain("SYS_ADMIN");
});

test("dropping all and adding one leaves that one", () => {
  expect(effectiveCapabilities({ drop: ["ALL"], add: ["NET_BIND_SERVICE"] }, false)).toEqual([
    "NET_BIND_SERVICE",
  ]);
});

test("names may carry their prefix and any case", () => {
  expect(effectiveCapabilities({ drop: ["CAP_CHOWN", "kill"] }, false)).not.toContain("CHOWN");
  expect(effectiveCapabilities({ drop: ["CAP_CHOWN", "kill"] }, false)).not.toContain("KILL");
});

test("a privileged container has all of them", () => {
  expect(effectiveCapabilities({ drop: ["ALL"] }, true)).toEqual(allCapabilities);
});
