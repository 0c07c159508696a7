/** The files of one resource: its schema, its controller, its test and an example. */
import { composeController, composeSpec, composeTest } from "./compose-template.ts";
import type { ApiNames } from "./names.ts";
import { reconcileController, reconcileSpec, reconcileTest } from "./reconcile-template.ts";
import type { ScaffoldFile } from "./write-files.ts";

/** How a controller begins. */
export type Template = "compose" | "reconcile";

export function apiFiles(api: ApiNames, template: Template): ScaffoldFile[] {
  const { folder, group, kind, version } = api;
  const [spec, controller, test] =
    template === "compose"
      ? [composeSpec, composeController(api), composeTest(api)]
      : [reconcileSpec, reconcileController(api), reconcileTest(api)];
  return [
    { path: `src/${folder}/api.ts`, content: resourceFile(api, spec) },
    { path: `src/${folder}/controller.ts`, content: controller },
    { path: `test/${folder}.test.ts`, content: test },
    {
      path: `examples/${folder}.yaml`,
      content: `apiVersion: ${group}/${version}\nkind: ${kind}\nmetadata:\n  name: example\nspec:\n${spec.example}`,
    },
  ];
}

function resourceFile({ group, kind, version }: ApiNames, { fields }: { readonly fields: string }): string {
  return `/** ${kind}: what users write, and what the operator reports. */
import { resource, z } from "keelson";

export const ${kind} = resource({
  group: "${group}",
  kind: "${kind}",
  version: "${version}",
${fields}});
`;
}
