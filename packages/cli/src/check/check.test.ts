/** What `keelson check` finds, and where. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { resource } from "@keelson/schema";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { main } from "../main.ts";
import { compareCrds } from "./compatibility.ts";
import type { Finding } from "./finding.ts";
import { lintCrd } from "./lint-schema.ts";

const names = { group: "cache.example.com", kind: "Cache", version: "v1" } as const;
const crdOf = (spec: z.ZodType, more: object = {}) => resource({ ...names, spec, ...more } as never).crd();

describe("a CRD that differs from the released one", () => {
  const rules = (was: z.ZodType, is: z.ZodType) =>
    compareCrds(crdOf(z.object({ field: was })), crdOf(z.object({ field: is }))).map(
      ({ message, rule }) => `${rule}: ${message}`,
    );

  test.each<[string, z.ZodType, z.ZodType, string[]]>([
    ["the same", z.string().max(9), z.string().max(9), []],
    ["a wider type", z.int(), z.number(), []],
    ["a looser limit", z.string().max(9), z.string().max(10), []],
    ["another value of an enum", z.enum(["a"]), z.enum(["a", "b"]), []],
    ["a default for what was required", z.string(), z.string().default("a"), []],
    ["another type", z.string(), z.int(), ["changed-type: spec.field was string and is integer"]],
    ["a narrower type", z.number(), z.int(), ["changed-type: spec.field was number and is integer"]],
    ["a tighter limit", z.int().max(9), z.int().max(8), ["narrowed: spec.field has maximum 8 and had 9"]],
    ["a new limit", z.string(), z.string().min(1), ["narrowed: spec.field has minLength 1 and had none"]],
    ["a value less", z.enum(["a", "b"]), z.enum(["a"]), ["narrowed: spec.field may not be b any more"]],
    [
      "a new pattern",
      z.string(),
      z.string().regex(/^a$/),
      ["narrowed: spec.field has the pattern ^a$ and had none"],
    ],
    ["no null", z.string().nullable(), z.string(), ["narrowed: spec.field may not be null any more"]],
    [
      "another default",
      z.int().default(1),
      z.int().default(2),
      ["changed-default: the default of spec.field was 1 and is 2"],
    ],
    [
      "no default",
      z.int().default(1),
      z.int().optional(),
      ["changed-default: the default of spec.field was 1 and is none"],
    ],
    [
      "required",
      z.int().optional(),
      z.int(),
      ["required-without-default: spec.field is required and was not, and it has no default"],
    ],
    [
      "a field less, inside a list",
      z.array(z.object({ a: z.int().optional(), b: z.int().optional() })),
      z.array(z.object({ a: z.int().optional() })),
      ["removed-field: spec.field[].b was released and is gone"],
    ],
    [
      "a narrower value of a map",
      z.record(z.string(), z.string()),
      z.record(z.string(), z.string().max(3)),
      ["narrowed: spec.field.* has maxLength 3 and had none"],
    ],
  ])("by %s", (_, was, is, found) => {
    expect(rules(was, is)).toEqual(found);
  });

  test("by its kind, its scope or a version", () => {
    const spec = z.object({});
    const released = crdOf(spec);
    const found = (current: Parameters<typeof compareCrds>[1]) =>
      compareCrds(released, current).map(({ rule }) => rule);
    expect(found(undefined)).toEqual(["removed-kind"]);
    expect(found(crdOf(spec, { scope: "Cluster" }))).toEqual(["changed-scope"]);
    expect(found(crdOf(spec, { version: "v2" }))).toEqual(["removed-version"]);
  });
});

test("fields without a description or a limit are warned of, also inside lists and maps", () => {
  const spec = z.object({
    mode: z.enum(["a"]).describe("d"),
    name: z.string(),
    members: z.array(z.object({ id: z.string().max(3).describe("d") })).describe("d"),
    labels: z.record(z.string(), z.string()).describe("d"),
    at: z.iso.datetime().describe("d"),
  });
  const found = lintCrd(crdOf(spec)).map(({ path, rule }) => `${path.join(".")} ${rule}`);
  expect(found).toEqual([
    "spec.name missing-description",
    "spec.name unbounded-string",
    "spec.members unbounded-list",
    "spec.labels.* unbounded-string",
  ]);
});

let home = "";
let said = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "klcheck-"));
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    said += String(chunk);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(home, { recursive: true });
});

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

async function checked(...flags: string[]): Promise<[output: string, code: number]> {
  said = "";
  process.exitCode = undefined;
  const code = await main(["check", "--directory", home, ...flags]);
  return [said, code];
}

const root = join(import.meta.dirname, "../../../..");
/** An operator with a file per thing, as authors have them. The folder differs by test: modules are imported once. */
function project(api: string, controller = "reconcile: async () => done()", values = "", bundle = {}): void {
  const from = (name: string) => JSON.stringify(join(root, `packages/${name}`));
  put("package.json", JSON.stringify({ name: "op", version: "1.0.0", keelson: { bundle } }));
  put("values.yaml", values);
  put(
    "src/api.ts",
    `import { resource } from ${from("schema/src/index.ts")};\nimport { z } from ${JSON.stringify(join(root, "node_modules/zod/index.js"))};
export const Cache = resource({
  group: "cache.example.com",
  kind: "Cache",
  version: "v1",
  spec: z.object({
${api}
  }),
});
`,
  );
  put(
    "src/index.ts",
    `import { Secret, Pod } from ${from("core/src/kinds/all.generated.ts")};
import { allow, allowSubresource, controller, done, operator } from ${from("runtime/src/index.ts")};
import { Cache } from "./api.ts";
export const app = operator({ name: "op", controllers: [
  controller(Cache, {
    ${controller},
  }),
] });
`,
  );
}

const findings = (output: string) => (JSON.parse(output) as { findings: Finding[] }).findings;

test("an operator that leaves nothing to wish for passes, and says what it was compared with", async () => {
  project('    size: z.int().min(1).max(9).default(3).describe("How many."),');
  const [output, code] = await checked();
  expect(output).toBe("0 errors, 0 warnings; there is no release to compare with (--against)\n");
  expect(code).toBe(0);
});

test("a finding has its file, its line and what to do; errors end with 1, warnings only with --strict", async () => {
  project('    size: z.int().default(3).describe("d"),\n    name: z.string().optional(),');
  const [output, code] = await checked();
  expect(output).toContain(
    'src/api.ts:9: warning: Cache: spec.name has no description (missing-description)\n  add .describe("…")',
  );
  expect(code).toBe(0);
  expect((await checked("--strict"))[1]).toBe(1);
  put("old.yaml", stringify(crdOf(z.object({ size: z.int().default(2), gone: z.int().optional() }))));
  const [compared, refused] = await checked("--against", join(home, "old.yaml"), "--output", "json");
  expect(refused).toBe(1);
  expect(findings(compared).filter(({ severity }) => severity === "error")).toEqual([
    expect.objectContaining({ rule: "changed-default", file: "src/api.ts", line: 8 }),
    expect.objectContaining({ rule: "removed-field", file: "src/api.ts" }),
  ]);
});

test("a folder that keelson generate wrote is a release: each CRD once, templates left out without a word", async () => {
  project('    size: z.int().max(9).describe("d"),');
  put("src/other.ts", "export const ports = { gone: 1 };\n");
  const released = stringify(crdOf(z.object({ size: z.int().max(9), gone: z.int().optional() })));
  put("deploy/install.yaml", `${released}---\nkind: Namespace\n`);
  put("deploy/kustomize/base/crds/caches.yaml", released);
  put(
    "deploy/chart/op/templates/deployment.yaml",
    "kind: Deployment\nnamespace: {{ .Release.Namespace | quote }}\n",
  );
  const warned = vi.spyOn(process, "emitWarning");
  const [output] = await checked("--against", join(home, "deploy"));
  expect(output.match(/error: .*spec\.gone was released and is gone/g)).toHaveLength(1);
  expect(output).toMatch(/^src\/api\.ts:5: error/);
  expect(output).toMatch(/\(1 CRD\)\n$/);
  expect(warned).not.toHaveBeenCalled();
});

/** Commits the project as it is, with a tag. */
function release(tag: string): void {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: home });
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "--message=first");
  git("tag", tag);
}

test("a release without CRDs is refused, and a tag without them is said", async () => {
  project('    size: z.int().max(9).describe("d"),');
  release("v1.0.0");
  vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    said += String(chunk);
    return true;
  });
  const why = "v1.0.0 has no CRDs in deploy/kustomize/base/crds; commit what keelson generate writes";
  expect(await checked()).toEqual([`0 errors, 0 warnings; nothing to compare with: ${why}\n`, 0]);
  expect(await checked("--against", "v1.0.0")).toEqual([`${why}\n`, 1]);
  const folder = join(home, "src");
  expect(await checked("--against", folder)).toEqual([`${folder} has no CRDs\n`, 1]);
});

test("the last release is the newest tag, with the files that keelson generate wrote into it", async () => {
  project('    size: z.int().max(9).describe("d"),');
  put(
    "deploy/kustomize/base/crds/caches.yaml",
    stringify(crdOf(z.object({ size: z.int().max(10), shards: z.int().optional() }))),
  );
  release("v1.0.0");
  const [output, code] = await checked();
  expect(output).toMatch(/spec\.size has maximum 9 and had 10 \(narrowed\)/);
  expect(output).toMatch(/spec\.shards was released and is gone/);
  expect(output).toMatch(/compared with v1\.0\.0 \(1 CRD\)\n$/);
  expect(code).toBe(1);
});

test("roles are looked at: what is dangerous, given twice or used nowhere", async () => {
  project(
    '    size: z.int().describe("d"),',
    `owns: { secret: Secret },
    writes: [
      allow(Secret, ["get"]),
      allowSubresource(Pod, "exec", ["create"]),
    ],
    reconcile: async () => done()`,
  );
  const [output] = await checked("--output", "json");
  expect(findings(output).map(({ line, message, rule }) => [rule, line, message])).toEqual([
    [
      "dangerous-permission",
      9,
      "with create on pods/exec the operator may run commands in any pod in every namespace",
    ],
    ["unused-permission", 8, "get on Secret is granted twice"],
    ["unused-permission", 9, "create on Pod/exec is granted, and nothing in the code uses Pod"],
  ]);
});

test("values that the restricted profile forbids, or that no server takes, are errors", async () => {
  const volumes = `volumes: [{ name: host, hostPath: { path: / } }]
volumeMounts: [{ name: host, mountPath: /host }]
`;
  project('    size: z.int().describe("d"),', undefined, volumes);
  const [output, code] = await checked("--output", "json");
  expect(findings(output)).toEqual([
    expect.objectContaining({
      rule: "pod-security",
      message: expect.stringContaining("restricted volume types"),
    }),
  ]);
  expect(code).toBe(1);
});

test("a capability level is believed when there is something to show for it", async () => {
  const bundle = { capabilities: "Full Lifecycle" };
  project('    version: z.string().max(9).describe("d"),', undefined, "", bundle);
  const [output] = await checked("--output", "yaml");
  expect(output).toContain(
    "claims Full Lifecycle, and for Full Lifecycle no resource has a kind or a field about backups",
  );
  expect(output).not.toContain("for Seamless Upgrades");
});
