/** Who may import whom: arrows never turn back, between packages, folders and files; and core and cel do no I/O. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { cyclesOf, folderOf, type Import, importsOf } from "./imports.ts";
import { root } from "./run.ts";

const sdk = ["core", "cel", "pki", "schema", "client", "runtime"];
const parts = [...sdk, "machine", "workloads", "apiserver", "controllers", "images", "node"];

/** For each package those that it may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  cel: ["core"],
  pki: ["core"],
  schema: ["core", "cel"],
  client: ["core"],
  runtime: ["core", "cel", "pki", "schema", "client"],
  keelson: sdk,
  kit: sdk,
  graphs: sdk,
  hooks: sdk,
  plans: [...sdk, "hooks"],
  nocode: [...sdk, "graphs", "hooks", "plans"],
  machine: [],
  workloads: ["core"],
  apiserver: ["core", "cel", "pki", "client", "runtime", "machine", "workloads"],
  controllers: [...sdk, "workloads"],
  images: ["core", "machine"],
  node: ["core", "pki", "client", "runtime", "machine", "workloads", "images"],
  cluster: parts,
  testing: [...parts, "cluster"],
  cli: [...parts, "cluster", "graphs", "hooks", "plans", "nocode"],
  "create-keelson": ["cli"],
};

/** Trees that stand on packages, and what none of them may stand on. */
const USERS: Readonly<Record<string, { readonly never: readonly string[] }>> = {
  operators: { never: [...parts.slice(sdk.length), "cluster", "testing", "cli"] },
  examples: { never: ["cluster", "cli"] },
  e2e: { never: [] },
  bench: { never: [] },
};

/** Layers of a package, lowest first: a folder imports folders before it, never those behind it. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  apiserver: [
    "contracts",
    "protobuf",
    "tables",
    "messages",
    "storage",
    "registry",
    "builtin",
    "codec",
    "rest",
    "subresources",
    "http",
    "server",
    "command",
  ],
  node: ["api", "environment", "runtime", "volumes", "kubelet", "network", "server", "faults", "host"],
  cel: ["values", "syntax", "check", "library", "program", "kubernetes"],
  client: [
    "websocket",
    "spdy",
    "objects",
    "client",
    "transport",
    "request",
    "watch",
    "verbs",
    "pods",
    "kubeconfig",
  ],
  hooks: ["api", "call", "children", "parent", "related", "rolling", "controller"],
  plans: ["api", "template", "engine", "controller"],
  runtime: [
    "log",
    "queue",
    "cache",
    "controller",
    "status",
    "children",
    "reconcile",
    "leader",
    "webhook",
    "operator",
  ],
};

/** Packages without I/O. */
const PURE = ["core", "cel"];

/** Sentences that name each import that goes the wrong way. */
export function directionProblems(): string[] {
  const packages = readdirSync(join(root, "packages"));
  return [
    ...packages.filter((name) => !(name in MAY_IMPORT)).map((name) => `packages/${name} has no direction`),
    ...packages.flatMap((name) => {
      const imports = importsOf(root, `packages/${name}/src/**/*.ts`);
      return [
        ...imports.flatMap((each) => packageProblems(name, each)),
        ...layerProblems(name, imports),
        ...cycleProblems(`packages/${name}`, imports),
      ];
    }),
    ...Object.entries(USERS).flatMap(([tree, { never }]) => userProblems(tree, never)),
  ];
}

export function packageProblems(name: string, { file, specifier, target, typeOnly }: Import): string[] {
  const own = packageOf(specifier);
  if (own === name) return [`${file}: a package enters itself by relative paths, not by ${specifier}`];
  if (own !== undefined && !MAY_IMPORT[name]?.includes(own))
    return [`${file}: ${name} must not import ${specifier}`];
  if (target !== undefined && !target.startsWith(`packages/${name}/`))
    return [`${file}: ${specifier} leaves the package; import it by its name`];
  if (PURE.includes(name) && specifier.startsWith("node:") && !typeOnly)
    return [`${file}: ${name} does no I/O and must not import ${specifier}`];
  return [];
}

export function layerProblems(name: string, imports: readonly Import[]): string[] {
  const layers = LAYERS[name];
  if (layers === undefined) return [];
  const layerOf = (path: string) => layers.indexOf(path.split("/")[3] ?? "");
  return imports.flatMap(({ file, target }) => {
    if (target === undefined) return [];
    const from = layerOf(file);
    const to = layerOf(target);
    return from >= 0 && to > from
      ? [`${file}: ${layers[from]} is below ${layers[to]} and must not import ${target}`]
      : [];
  });
}

/** Files must form no cycle; folders neither, but for entry files, which list what lies below them. */
export function cycleProblems(name: string, imports: readonly Import[]): string[] {
  const inside = imports.filter(({ target }) => target !== undefined) as (Import & { target: string })[];
  const files = cyclesOf(inside.map(({ file, target }) => [file, target] as const));
  const folders = cyclesOf(
    inside.flatMap(({ file, target }) => {
      const from = folderOf(file);
      const to = folderOf(target);
      return from === undefined || to === undefined ? [] : [[from, to] as const];
    }),
  );
  return [
    ...files.map((cycle) => `${name}: files import each other: ${cycle.join(", ")}`),
    ...folders.map((cycle) => `${name}: folders import each other: ${cycle.join(", ")}`),
  ];
}

function userProblems(tree: string, never: readonly string[]): string[] {
  const imports = importsOf(root, tree === "operators" ? "operators/*/src/**/*.ts" : `${tree}/**/*.ts`);
  const byProgram = Map.groupBy(imports, ({ file }) => file.split("/").slice(0, 2).join("/"));
  return [
    ...imports.flatMap(({ file, specifier }) => {
      const own = packageOf(specifier);
      if (own !== undefined && never.includes(own) && !file.includes("/test/"))
        return [`${file}: ${tree} must not import ${specifier}`];
      if (own !== undefined && /\/(src|dist)\//.test(specifier))
        return [`${file}: ${specifier} is not an entry of its package`];
      return [];
    }),
    ...[...byProgram].flatMap(([name, list]) => cycleProblems(name, list)),
  ];
}

function packageOf(specifier: string): string | undefined {
  return (
    /^@keelson\/([^/]+)/.exec(specifier)?.[1] ?? (/^keelson(\/|$)/.test(specifier) ? "keelson" : undefined)
  );
}
