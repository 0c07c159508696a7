/** The files of one resource: its schema, its controller, its test and an example. */
import { composeController, composeSpec, composeTest } from "./compose-template.ts";
import { databaseController, databaseSpec, databaseTest } from "./database-template.ts";
import type { ApiNames } from "./names.ts";
import { reconcileController, reconcileSpec, reconcileTest } from "./reconcile-template.ts";
import type { Template } from "./templates.ts";
import type { ScaffoldFile } from "./write-files.ts";

interface TemplateParts {
  readonly spec: { readonly fields: string; readonly example: string };
  readonly controller: (api: ApiNames) => string;
  readonly test: (api: ApiNames) => string;
  /** What its schema needs of keelson beside `resource` and `z`. */
  readonly imports?: string;
  /** Packages that its code imports beside keelson. */
  readonly packages?: readonly string[];
}

const parts: Readonly<Record<Template, TemplateParts>> = {
  compose: { spec: composeSpec, controller: composeController, test: composeTest },
  reconcile: { spec: reconcileSpec, controller: reconcileController, test: reconcileTest },
  database: {
    spec: databaseSpec,
    controller: databaseController,
    test: databaseTest,
    imports: "quantity, ",
    packages: ["@keelson/kit"],
  },
};

/** Packages that the code of a template imports beside keelson. */
export function packagesOf(template: Template): readonly string[] {
  return parts[template].packages ?? [];
}

export function apiFiles(api: ApiNames, template: Template): ScaffoldFile[] {
  const { folder, group, kind, version } = api;
  const { controller, spec, test } = parts[template];
  return [
    { path: `src/${folder}/api.ts`, content: resourceFile(api, parts[template]) },
    { path: `src/${folder}/controller.ts`, content: controller(api) },
    { path: `test/${folder}.test.ts`, content: test(api) },
    {
      path: `examples/${folder}.yaml`,
      content: `apiVersion: ${group}/${version}\nkind: ${kind}\nmetadata:\n  name: example\nspec:\n${spec.example}`,
    },
  ];
}

function resourceFile({ group, kind, version }: ApiNames, { imports = "", spec }: TemplateParts): string {
  return `/** ${kind}: what users write, and what the operator reports. */
import { ${imports}resource, z } from "keelson";

export const ${kind} = resource({
  group: "${group}",
  kind: "${kind}",
  version: "${version}",
${spec.fields}});
`;
}
