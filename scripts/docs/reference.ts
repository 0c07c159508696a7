/** The pages of docs/reference that are written from the code: names that others depend on. */
import { application } from "@keelson/cli/main";
import { backupHealthReasons, backupHealthyCondition } from "@keelson/kit";
import { generateHelpTextForAllCommands } from "@stricli/core";
import { DatabaseMetrics } from "../../operators/database/src/metrics.ts";
import { EtcdMetrics } from "../../operators/etcd/src/metrics.ts";
import { PrometheusMetrics } from "../../packages/runtime/src/operator/prometheus.ts";
import { type Constant, constantsIn } from "./constants.ts";

/** By path below docs/reference. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["labels.md", labels()],
    ["conditions.md", conditions()],
    ["metrics.md", await metrics()],
    ["command.md", command()],
  ]);
}

const generated = "Written from the code by `npm run docs`; a test fails when it is not current.";
const stable = "These names are API: a change follows the [policies](../policies.md).";
const own = /^(?:[a-z0-9-]+\.)*keelson\.dev\//;

function labels(): string {
  const all = constantsIn("{packages,operators}/*/src/**/*.ts").filter(({ value }) => own.test(value));
  const homes = [...new Set(all.map(({ home }) => home))].sort(byTree);
  return page(
    "Labels, annotations and finalizers",
    "What the runtime, the embedded cluster and the operators write on objects, and what people may write there.",
    [
      "## Every operator\n",
      table(
        ["name", "on", "meaning"],
        [
          [
            "`keelson.dev/<controller>`",
            "finalizer",
            "Held while a controller with `finalize` has work left.",
          ],
          ["`keelson-<controller>`", "field manager", "Signs the writes of a controller."],
        ],
      ),
      ...homes.flatMap((home) => [
        `## ${titleOf(home)}\n`,
        table(
          ["name", "meaning"],
          unique(all.filter((each) => each.home === home)).map((each) => [`\`${each.value}\``, each.meaning]),
        ),
      ]),
    ],
  );
}

function conditions(): string {
  const operators = constantsIn("operators/*/src/api/conditions.ts");
  const homes = [...new Set(operators.map(({ home }) => home))].sort();
  const kit = constantsIn("packages/kit/src/backup/health.ts");
  const reasons = kit.filter(({ value }) => Object.values<string>(backupHealthReasons).includes(value));
  return page(
    "Conditions and reasons",
    "Every resource of an operator has the first three conditions, which follow from the outcome of a reconcile " +
      "as kstatus reads them. Operators add their own.",
    [
      "## Every operator\n",
      table(
        ["condition", "meaning"],
        [
          ["`Ready`", "True after `done()`: the object is as its spec says, for its `observedGeneration`."],
          ["`Reconciling`", "True after `waiting()` or an error that waiting may resolve."],
          ["`Stalled`", "True after `fail()` or an error that only a change of the object resolves."],
        ],
      ),
      "Their reason is the one that `waiting()` or `fail()` was given, or one of these:\n",
      table(
        ["reason", "meaning"],
        [
          ["`Ready`", "The reconcile ended with `done()`."],
          ["`ChildrenNotReady`", "A composition waits for a child to become ready."],
          ["`Invalid`", "The server refuses a write as invalid; Stalled."],
          ["`ReconcileError`", "Any other error; it is tried again."],
          [
            "a code of [`RuntimeError`](errors.md#keelsonruntime)",
            "`InvalidChild`, `InvalidStatus`, `InvalidObject`, `NotOurs` and `NotDeclared` are Stalled.",
          ],
          ["a reason of the API server", "Such as `Forbidden` or `Conflict`, when a request was refused."],
        ],
      ),
      "## @keelson/kit\n",
      `Condition \`${backupHealthyCondition}\`:\n`,
      table(
        ["reason", "meaning"],
        reasons.map((each) => [`\`${each.value}\``, each.meaning]),
      ),
      ...homes.flatMap((home) => {
        const mine = operators.filter((each) => each.home === home);
        const source = groups(mine);
        return [
          `## ${titleOf(home)}\n`,
          table(["condition", "meaning"], source.conditions),
          ...reasonsOf(source.reasons),
        ];
      }),
    ],
  );
}

/** Reasons that need an explanation have one in the code; the others say what they mean. */
function reasonsOf(all: readonly string[][]): string[] {
  const [explained, plain] = [all.filter(([, meaning]) => meaning), all.filter(([, meaning]) => !meaning)];
  const names = plain.map(([name]) => name).join(", ");
  return [
    ...(names ? [`${wrap(`Reasons: ${names}`)}${explained.length > 0 ? ", and\n" : ".\n"}`] : ["Reasons:\n"]),
    ...(explained.length > 0 ? [table(["reason", "meaning"], explained)] : []),
  ];
}

function groups(all: readonly Constant[]): { conditions: string[][]; reasons: string[][] } {
  const row = ({ value, meaning }: Constant) => [`\`${value}\``, meaning];
  const types = all.filter(({ group }) => group === "conditions");
  return { conditions: types.map(row), reasons: all.filter(({ group }) => group === "reasons").map(row) };
}

async function metrics(): Promise<string> {
  const runtime = parse((await new PrometheusMetrics().text()).body);
  const row = ({ name, type, help }: { name: string; type: string; help: string }) => [
    `\`${name}\``,
    type,
    help,
  ];
  const header = ["metric", "type", "meaning"];
  return page(
    "Metrics",
    "Served at `/metrics` of an operator, in the names that dashboards for controller-runtime already know. " +
      "`process_*` and `nodejs_*` are those of prom-client; it begins to count when they are first asked for.",
    [
      "## Every operator\n",
      table(header, runtime.filter(({ name }) => !/^(process|nodejs)_/.test(name)).map(row)),
      "## etcd operator\n",
      table(header, new EtcdMetrics().families().map(row)),
      "## Database operator\n",
      table(header, new DatabaseMetrics().families().map(row)),
    ],
  );
}

/** Name, type and help of each family in Prometheus' text. */
function parse(text: string): { name: string; type: string; help: string }[] {
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name = "", help = "", type = ""]) => ({
      name,
      help,
      type,
    }),
  );
}

function command(): string {
  return page("The keelson command", "Every command with its flags, as `--help` prints it.", [
    "## Exit codes\n",
    table(
      ["code", "meaning"],
      [
        ["0", "Done; for `run`, `dev`, `apiserver`, `node` and an operator: ended by SIGINT or SIGTERM."],
        [
          "1",
          "It could not be done; the message says why. `check` and `generate --check`: they found something. An operator: " +
            "could not start, or lost its lease or caches.",
        ],
        ["2", "The command line was not understood."],
        ["141", "Nobody read its output any more (`keelson … | head`), and it was not done."],
      ],
    ),
    ...generateHelpTextForAllCommands(application).map(
      ([route, text]) => `## ${route}\n\n\`\`\`text\n${text.trim()}\n\`\`\`\n`,
    ),
  ]);
}

function page(title: string, about: string, parts: readonly string[]): string {
  return `# ${title}\n\n${wrap(about)}\n\n${wrap(`${stable} ${generated}`)}\n\n${parts.join("\n").trimEnd()}\n`;
}

/** Lines of at most 120 characters. */
function wrap(text: string): string {
  return text.replace(/(.{1,120})(?:\s+|$)/g, "$1\n").trimEnd();
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = header.map((_, i) => Math.max(3, ...cells.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  const [first = [], ...rest] = cells;
  return `${[line(first), line(widths.map((width) => "-".repeat(width))), ...rest.map(line)].join("\n")}\n`;
}

/** A name may be written down twice, where two packages must not import each other. */
function unique(all: readonly Constant[]): Constant[] {
  return [...new Map(all.map((each) => [each.value, each])).values()];
}

function titleOf(home: string): string {
  const [tree, name = ""] = home.split("/");
  return tree === "packages" ? `@keelson/${name}` : `${name} operator`;
}

/** Packages before operators. */
function byTree(a: string, b: string): number {
  const rank = (home: string) => (home.startsWith("packages/") ? 0 : 1);
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}
