/** The files of a new project, beside those of its first resource. */
import type { ApiNames } from "./names.ts";
import type { Packages } from "./packages.ts";
import { toolVersions } from "./tool-versions.ts";
import type { ScaffoldFile } from "./write-files.ts";

/** Of a project's formatter. */
export const LINE_WIDTH = 120;

/** What a new project is made of. */
export interface ProjectPlan {
  readonly name: string;
  readonly api: ApiNames;
  readonly packages: Packages;
  /** Packages that its code imports beside keelson. */
  readonly uses: readonly string[];
}

export function projectFiles(plan: ProjectPlan): ScaffoldFile[] {
  return [
    { path: "package.json", content: json(manifestOf(plan)) },
    { path: "tsconfig.json", content: json(tsconfig) },
    { path: "biome.json", content: json(biome) },
    { path: ".gitignore", content: "node_modules/\n.keelson/*\n!.keelson/scaffold.json\n*.oci.tar\n" },
    { path: "README.md", content: readme(plan) },
    { path: "src/index.ts", content: entry(plan) },
    { path: "src/main.ts", content: main },
  ];
}

function manifestOf({ name, packages, uses }: ProjectPlan) {
  const { keelson, others, tools, overrides } = packages;
  const used = Object.fromEntries(uses.map((each) => [each, others[each] ?? keelson]));
  return {
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    engines: { node: ">=22.19.0" },
    scripts: {
      start: "node src/main.ts",
      test: "vitest run --test-timeout=60000",
      check: "biome ci --error-on-warnings . && tsc",
      format: "biome check --write .",
    },
    dependencies: { ...used, keelson },
    devDependencies: { ...toolVersions, ...tools },
    ...(overrides && { overrides }),
  };
}

const tsconfig = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "esnext.disposable"],
    module: "nodenext",
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
  },
  include: ["src", "test"],
};

const biome = {
  $schema: "./node_modules/@biomejs/biome/configuration_schema.json",
  files: { includes: ["**", "!**/node_modules", "!**/.keelson", "!deploy", "!package-lock.json"] },
  formatter: { indentStyle: "space", lineWidth: LINE_WIDTH },
};

const main = `/** Runs the operator: what its image starts. */
import { app } from "./index.ts";

await app.run();
`;

function entry({ name, api }: ProjectPlan): string {
  return `/** What this operator is made of. Importing it starts nothing: main.ts runs it. */
import { operator } from "keelson";
import { ${api.controller} } from "./${api.folder}/controller.ts";

export { ${api.kind} } from "./${api.folder}/api.ts";

/** Its name is that of its Lease and of everything that \`keelson generate\` installs. */
export const app = operator({
  name: "${name}",
  controllers: [${api.controller}],
});
`;
}

function readme({ name, api }: ProjectPlan): string {
  return `# ${name}

A Kubernetes operator in TypeScript, made with Keelson.

\`\`\`shell
npm test           # in virtual time, with a crash at every write
npm run check      # lint and types

npx keelson dev --apply examples    # a cluster on this machine, this operator in it, loaded again at every save
npx keelson run                     # this operator, against a cluster of your kubeconfig
\`\`\`

- \`src/${api.folder}/api.ts\`: the resource; what users write, and what is reported
- \`src/${api.folder}/controller.ts\`: what a ${api.kind} becomes in the cluster
- \`test/${api.folder}.test.ts\`: what is promised of it
- \`examples/${api.folder}.yaml\`: a ${api.kind} to try, with \`kubectl apply -f examples\`
- \`src/index.ts\`: the resources, the controllers and the operator
- \`src/main.ts\`: runs the operator

To ship it: \`npx keelson generate\` writes what installs it, \`npx keelson deploy\` builds its image and installs it.
More: \`npx keelson create api\`, \`create webhook\`, \`create version\`; \`npx keelson upgrade\` for a newer scaffold.
`;
}

/** As Biome writes it: short lists on one line. */
export function json(value: unknown): string {
  const text = JSON.stringify(value, undefined, 2);
  return `${text.replace(/\[\n\s+([^[\]{}]*?)\n\s+\]/g, (_, items: string) => `[${items.replace(/,\n\s+/g, ", ")}]`)}\n`;
}
