/** What a person sees under `keelson dev`, at a terminal and in a pipe. */
import { describe, expect, test } from "vitest";
import { Board } from "./board.ts";
import { codeFrame } from "./code-frame.ts";
import type { DevEvent, ResourceRow } from "./events.ts";
import { colours, noColours, pad, truncate, wrap } from "./paint.ts";
import { PlainLines } from "./plain.ts";
import { type Diagnostic, parseDiagnostics } from "./type-check.ts";
import { view } from "./view.ts";
import { isSource, isTyped } from "./watch-files.ts";
import { causesText, logLine, spanText } from "./words.ts";

const now = Date.UTC(2026, 0, 1, 12, 0, 0);
const row: ResourceRow = {
  kind: "Cache",
  key: "default/example",
  createdAt: now - 12_000,
  deleting: false,
  stalled: false,
  ready: "False",
  reason: "ChildrenNotReady",
  message: "Deployment example: 0 of 2 replicas are available",
  conditions: [],
  children: [],
};
const cluster: DevEvent = {
  type: "cluster",
  name: "cache-operator",
  server: "https://127.0.0.1:6443",
  kubeconfig: "/state/kubeconfig",
  pods: "real",
};
const reconciled: DevEvent = {
  type: "reconciled",
  kind: "Cache",
  report: {
    controller: "cache",
    key: "default/example",
    causes: [{ type: "child", kind: "Deployment.apps", key: "default/example" }],
    outcome: "waiting",
    reason: "ChildrenNotReady",
    message: "0 of 2",
    nextMs: 5_000,
    durationMs: 12,
  },
};

function shown(events: readonly DevEvent[], rows = 24): string {
  const board = new Board();
  for (const event of events) board.take(event, now);
  const frame = { columns: 100, rows, now: now + 1_000, paint: noColours, keys: "q quit" };
  const lines = view(board, frame);
  expect(lines).toHaveLength(rows);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
  return lines.join("\n");
}

const started: readonly DevEvent[] = [
  cluster,
  { type: "loaded", name: "cache-operator", kinds: ["Cache"], controllers: { cache: "Cache" }, webhooks: 1 },
  { type: "working", ms: 412, cpuMs: 90, files: [] },
];

describe("the live view", () => {
  test("shows the operator, the cluster, resources with what they wait for, and reconciles with their causes", () => {
    const text = shown([...started, { type: "types", found: [] }, { type: "resource", row }, reconciled]);
    expect(text).toMatch(/^ cache-operator {2}● working {2}started in 412 ms, 1\.0 s ago$/m);
    expect(text).toMatch(
      /cluster cache-operator at https:\/\/127\.0\.0\.1:6443, real pods {2}· {2}types ok {2}· {2}1 webhook/,
    );
    expect(text).toMatch(
      /… Cache default\/example {2}waiting {3}13 s {4}ChildrenNotReady: Deployment example: 0 of 2/,
    );
    expect(text).toMatch(/looks again in 4\.0 s/);
    expect(text).toMatch(
      /Cache default\/example {2}waiting {3}12 ms {3}child Deployment changed {2}→ {2}ChildrenNotReady/,
    );
    expect(text).toMatch(/ q quit$/);
  });

  test("shows what a resource has that is ready, and its other conditions", () => {
    const { reason: _, message: __, ...rest } = row;
    const ready: ResourceRow = {
      ...rest,
      ready: "True",
      children: ["Deployment example", "Service example"],
      conditions: ["BackupHealthy=False (NoBackup)"],
    };
    expect(shown([...started, { type: "resource", row: ready }])).toMatch(
      /✓ Cache default\/example {2}ready .* has Deployment example, Service example\n +BackupHealthy=False \(NoBackup\)/,
    );
    expect(new PlainLines().linesOf({ type: "resource", row: ready })).toEqual([
      "Cache default/example: Ready, BackupHealthy=False (NoBackup)",
    ]);
  });

  test("counts what repeats, and forgets what is gone", () => {
    const text = shown([...started, reconciled, reconciled, reconciled]);
    expect(text).toMatch(/child Deployment changed ×3 {2}→/);
    expect(
      shown([...started, { type: "resource", row }, { type: "deleted", kind: "Cache", key: row.key }]),
    ).toMatch(/none yet: kubectl apply -f examples/);
  });

  test("shows a type error where it is, and code that cannot be loaded", () => {
    const found = parseDiagnostics(compiler, () => source);
    const text = shown([...started, { type: "types", found }]);
    expect(text).toMatch(/1 type error/);
    expect(text).toMatch(/ src\/a\.ts:2:7 TS2322: Type 'string' is not assignable to type 'number'\./);
    expect(text).toMatch(/> 2 \| const size: number = "3";\n +\| +\^\^\^\^\n/);
    expect(
      shown([...started, { type: "broken", goesOn: true, text: "src/a.ts cannot be imported:\nError: no" }]),
    ).toMatch(
      /● cannot be loaded; the last version goes on[\s\S]*src\/a\.ts cannot be imported:\n Error: no/,
    );
  });

  test("shows a refusal to its end, which says what to do", () => {
    const text = `cannot install caches.cache.example.com: ${"the server refuses it, ".repeat(8)}bring v1alpha1 back`;
    const seen = shown([
      ...started,
      { type: "broken", goesOn: true, text: `${text}\n    at ${"x".repeat(300)}` },
    ]);
    expect(seen).toMatch(/bring v1alpha1\s+back\n {5}at x+…\n/);
  });

  test("leaves room on a small screen, whatever there is to say", () => {
    const many = Array.from(
      { length: 40 },
      (_, index): DevEvent => ({ type: "resource", row: { ...row, key: `default/${index}` } }),
    );
    const logs = Array.from(
      { length: 40 },
      (): DevEvent => ({ type: "log", level: "warn", text: "x".repeat(300) }),
    );
    const found = Array.from({ length: 9 }, () => parseDiagnostics(compiler, () => source)[0] as Diagnostic);
    for (const rows of [6, 10, 24, 50])
      shown([...started, ...many, ...logs, reconciled, { type: "types", found }], rows);
  });
});

const source = 'const a = 1;\nconst size: number = "3";\nexport { a, size };\n';
const compiler = `src/a.ts(2,7): error TS2322: Type 'string' is not assignable to type 'number'.
  The details
    The particulars
`;

describe("in a pipe", () => {
  test("each event is a line, and what is no news is none", () => {
    const plain = new PlainLines();
    const lines = [
      ...started,
      { type: "resource", row } as const,
      { type: "resource", row } as const,
      reconciled,
    ].flatMap((event) => plain.linesOf(event));
    expect(lines).toEqual([
      "cluster cache-operator is up at https://127.0.0.1:6443, real pods",
      "export KUBECONFIG=/state/kubeconfig",
      "the operator works, 412 ms after its start",
      "Cache default/example: waits (ChildrenNotReady: Deployment example: 0 of 2 replicas are available)",
      "reconciled Cache default/example in 12 ms, waiting: ChildrenNotReady, 0 of 2, looks again in 5.0 s (child Deployment changed)",
    ]);
  });

  test("a type error has its place, its code and the particulars, and its end is told once", () => {
    const plain = new PlainLines();
    const found = parseDiagnostics(compiler, () => source);
    expect(plain.linesOf({ type: "types", found })).toEqual([
      "src/a.ts:2:7 TS2322: Type 'string' is not assignable to type 'number'.",
      "  The particulars",
      "    1 | const a = 1;",
      '  > 2 | const size: number = "3";',
      "      |       ^^^^",
      "    3 | export { a, size };",
    ]);
    expect(plain.linesOf({ type: "types", found: [] })).toEqual(["types: no errors"]);
    expect(plain.linesOf({ type: "types", found: [] })).toEqual([]);
  });
});

describe("words", () => {
  test("a log line is its sentence, its cause, its fields and the place in the author's files", () => {
    const line = {
      level: "warn",
      time: "t",
      pid: 1,
      hostname: "h",
      name: "op",
      controller: "cache",
      msg: "it failed",
    };
    const stack = "Error: no\n    at x (node:internal/x:1:1)\n    at f (file:///p/src/a.ts:3:5)\n";
    expect(logLine(JSON.stringify({ ...line, error: "no", stack }))).toEqual({
      level: "warn",
      text: "it failed: no  controller=cache  at /p/src/a.ts:3:5",
    });
    expect(logLine("{ not json")).toEqual({ level: "", text: "{ not json" });
    expect(logLine("hello")).toEqual({ level: "", text: "hello" });
  });

  test.each([
    [340.4, "340 ms"],
    [4_210, "4.2 s"],
    [61_000, "61 s"],
    [180_000, "3 m"],
    [7_200_000, "2 h"],
    [432_000_000, "5 d"],
  ])("%d ms is %s", (ms, text) => {
    expect(spanText(ms)).toBe(text);
  });

  test("causes are named once each, the object's own without its name", () => {
    const own = { kind: "Cache", key: "default/a" };
    const causes = [
      { type: "created", kind: "Cache.cache.example.com", key: "default/a" },
      { type: "created", kind: "Cache.cache.example.com", key: "default/a" },
      { type: "read", kind: "Secret", key: "default/key" },
      { type: "timer" },
      { type: "retry" },
    ] as const;
    expect(causesText(causes, own)).toBe(
      "created, Secret default/key changed, time to look again and 1 more",
    );
  });

  test("text is cut and padded by what is seen of it", () => {
    expect(truncate(colours.red("abcdef"), 4)).toBe("\u001b[31mabc…\u001b[39m");
    expect(pad(colours.red("ab"), 4)).toBe("\u001b[31mab\u001b[39m  ");
    expect(wrap("one two three four five", 10, 2)).toEqual(["one two", "three fou…"]);
  });

  test("the first line and the last have no neighbours beyond them", () => {
    expect(codeFrame("a b", { line: 1, column: 3 })).toEqual(["> 1 | a b", "    |   ^"]);
  });

  test.each([
    ["src/a.ts", true, true],
    ["package.json", true, true],
    ["test/a.test.ts", false, true],
    ["src/a.test.ts", false, true],
    ["tsconfig.json", false, true],
    ["README.md", false, false],
    ["examples/a.yaml", false, false],
  ])("%s: of the operator %s, of the type check %s", (path, ofOperator, ofTypes) => {
    expect([isSource(path), isTyped(path)]).toEqual([ofOperator, ofTypes]);
  });
});
