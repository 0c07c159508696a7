/** What the compiler says of the mistakes that people make: one line each, which names the field, slot or version. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Each with what the compiler says of it, from the place that it points at. */
const mistakes: Readonly<
  Record<string, { readonly code: string; readonly at: string; readonly says: string }>
> = {
  "an undeclared slot": {
    code: `controller(App, {
        owns: { service: Service },
        compose: (app) => ({ children: { servic: { spec: { ports: [{ port: app.spec.size }] } } } }),
      });`,
    at: "compose:",
    says: `is not assignable to type '"children.servic does not exist"'`,
  },
  "a value that a field does not have": {
    code: `controller(App, {
        owns: { service: Service },
        compose: (app) => ({ children: { service: { spec: { type: "LoadBalancr", clusterIP: app.metadata.name } } } }),
      });`,
    at: "compose:",
    says: `is not assignable to type '"children.service.spec.type must be ClusterIP" | "children.service.spec.type must be ExternalName" |`,
  },
  "a misspelt field of a child, in a bare arrow": {
    code: `controller(App, {
        owns: { deployment: Deployment },
        compose: (app) => ({
          children: {
            deployment: {
              spec: { replica: app.spec.size, selector: {}, template: { spec: { containers: [{ name: "a" }] } } },
            },
          },
        }),
      });`,
    at: "compose:",
    says: `is not assignable to type '"children.deployment.spec.replica does not exist"'`,
  },
  "a misspelt field deep in a list": {
    code: `controller(App, {
        owns: { deployment: Deployment },
        compose: (app) => ({
          children: {
            deployment: { spec: { selector: {}, template: { spec: { containers: [{ name: "a", imag: app.kind }] } } } },
          },
        }),
      });`,
    at: "compose:",
    says: `is not assignable to type '"children.deployment.spec.template.spec.containers[].imag does not exist"'`,
  },
  "a required field that is missing": {
    code: `controller(App, {
        owns: { deployment: Deployment },
        compose: () => ({ children: { deployment: { spec: { selector: {} } } } }),
      });`,
    at: "compose:",
    says: `is not assignable to type '"children.deployment.spec.template is missing"'`,
  },
  "a misspelt field of the status": {
    code: `controller(App, { compose: (app) => ({ children: {}, status: { redy: app.spec.size } }) });`,
    at: "compose:",
    says: `is not assignable to type '"status.redy does not exist"'`,
  },
  "a composition without children": {
    code: `controller(App, { compose: (app) => ({ status: { ready: app.spec.size } }) });`,
    at: "compose:",
    says: `is not assignable to type '"children is missing"'`,
  },
  "a status inside a conversion that may be undefined": {
    code: versioned(
      "toStored: ({ spec, status }) => ({ spec: { hour: spec.at }, status: { last: status.last } }),",
    ),
    at: "status.last",
    says: "'status' is possibly 'undefined'",
  },
  "a misspelt field of a conversion": {
    code: versioned("toStored: ({ spec }) => ({ spec: { our: spec.at } }),"),
    at: "our:",
    says: "'our' does not exist in type '{ hour: string; }'. Did you mean to write 'hour'?",
  },
  "a misspelt key of a definition": {
    code: `resource({ ...names, versions: { v1: { spec: v1 } }, storage: "v1", conversion: {} });`,
    at: "conversion:",
    says: "Did you mean to write 'conversions'?",
  },
  "a storage version that is not there": {
    code: `resource({ ...names, versions: { v0: { spec: v0 }, v1: { spec: v1 } }, storage: "v2" });`,
    at: "storage:",
    says: `Type '"v2"' is not assignable to type '"v0" | "v1"'`,
  },
};

function versioned(toStored: string): string {
  return `resource({
    ...names,
    versions: { v0: { spec: v0, status }, v1: { spec: v1, status } },
    storage: "v1",
    conversions: { v0: { ${toStored} fromStored: ({ spec }) => ({ spec: { at: spec.hour } }) } },
  });`;
}

const prologue = `import { Deployment, Service } from "@keelson/core/kinds";
import { controller } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { z } from "zod";
const names = { group: "a.example.com", kind: "S" } as const;
const v0 = z.object({ at: z.string() });
const v1 = z.object({ hour: z.string() });
const status = z.object({ last: z.string().optional() });
const App = resource({
  group: "a.example.com",
  kind: "App",
  version: "v1",
  spec: z.object({ size: z.int() }),
  status: z.object({ ready: z.int().optional() }),
});
export { App, controller, Deployment, names, resource, Service, status, v0, v1 };
`;

const fileOf = (index: number) => `mistake-${index}.ts`;
let folder: string;
let lines: string[];

beforeAll(async () => {
  const cache = join(root, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, "type-mistakes-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const config = {
    extends: join(root, "tsconfig.check.json"),
    compilerOptions: { noEmit: true, typeRoots: [join(root, "node_modules/@types")] },
    include: ["./*.ts"],
    exclude: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  for (const [index, { code }] of Object.values(mistakes).entries()) {
    await writeFile(join(folder, fileOf(index)), `${prologue}export const made = ${code}\n`);
  }
  const tsc = join(root, "node_modules/.bin/tsc");
  lines = await new Promise((resolve) => {
    execFile(tsc, ["-p", folder, "--pretty", "false"], { maxBuffer: 1 << 24 }, (_error, stdout) =>
      resolve(stdout.trimEnd().split("\n")),
    );
  });
});
afterAll(() => rm(folder, { recursive: true }));

test.each(Object.entries(mistakes).map(([what, mistake], index) => ({ what, index, ...mistake })))(
  "$what is one line that names it",
  ({ index, code, at, says }) => {
    const about = lines.filter((line) => line.includes(fileOf(index)));
    expect(about).toHaveLength(1);
    const [line = ""] = about;
    expect(line).toContain(says);
    // Nothing is explained below it: the line is the whole message.
    expect(lines[lines.indexOf(line) + 1] ?? "").not.toMatch(/^\s/);
    const [, row, column] = /\((\d+),(\d+)\)/.exec(line) ?? [];
    const source = `${prologue}export const made = ${code}\n`.split("\n");
    expect(source[Number(row) - 1]?.slice(Number(column) - 1)).toMatch(
      new RegExp(`^${at.replace(".", "\\.")}`),
    );
  },
);
