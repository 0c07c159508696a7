import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import * as kinds from "./index.ts";

const { Deployment, Event, HorizontalPodAutoscaler, Namespace, autoscalingV1, eventsV1 } = kinds;

describe("built-in kinds", () => {
  it("name their place in the API", () => {
    expect(Deployment).toEqual({
      group: "apps",
      version: "v1",
      kind: "Deployment",
      resource: "deployments",
      scope: "Namespaced",
    });
    expect(Namespace).toMatchObject({ group: "", scope: "Cluster", resource: "namespaces" });
  });

  it("are found by plain name in their preferred version, and in the others by namespace", () => {
    expect(HorizontalPodAutoscaler.version).toBe("v2");
    expect(autoscalingV1.HorizontalPodAutoscaler.version).toBe("v1");
    expect([Event.group, eventsV1.Event.group]).toEqual(["", "events.k8s.io"]);
  });

  it("are frozen literals", () => {
    const values = Object.values(kinds).filter((value) => "resource" in value);
    expect(values.length).toBeGreaterThan(60);
    for (const value of values) expect(Object.isFrozen(value)).toBe(true);
  });

  it("compile where they should and nowhere else", async () => {
    const here = dirname(fileURLToPath(import.meta.url));
    const compiler = join(
      dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
      "bin/tsc",
    );
    const flags = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--noUncheckedIndexedAccess",
      "--skipLibCheck",
      "--types",
      "node",
      "--target",
      "es2023",
    ];
    const modules = [
      "--module",
      "nodenext",
      "--allowImportingTsExtensions",
      "--verbatimModuleSyntax",
      "--erasableSyntaxOnly",
    ];
    const run = promisify(execFile)(process.execPath, [
      compiler,
      ...flags,
      ...modules,
      join(here, "kinds.test-d.ts"),
    ]);
    const output = await run.then(
      () => "",
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
    expect(output).toBe("");
  });
});
