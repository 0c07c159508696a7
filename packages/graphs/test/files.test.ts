/** Definitions in files: mistakes name the file and the line. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkDefinitions, clusterFacts, problemsInFile, readDefinitionFiles } from "@keelson/graphs";
import { cluster } from "@keelson/testing";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "keelson-graphs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const web = `# a graph
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: web
spec:
  schema:
    apiVersion: v1alpha1
    kind: Web
    spec:
      size: integer
      colour: string | shade=dark
---
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: shop
spec:
  schema: { apiVersion: v1alpha1, kind: Shop, spec: { size: integer } }
  resources:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: a }
      data:
        first: fine
        size: \${schema.spec.size}
      datum: {}
`;

test("a mistake is told with its file and line", async () => {
  writeFileSync(join(folder, "web.yaml"), web);
  await using c = await cluster();
  const { definitions, others } = readDefinitionFiles(folder);
  expect(others).toEqual([]);
  const told = (await checkDefinitions(definitions, clusterFacts(c.client))).flatMap(
    ({ definition, error }) => (error ? problemsInFile(definition, error) : []),
  );
  const file = join(folder, "web.yaml");
  expect(told).toEqual([
    `${file}:12: there is no marker "shade"`,
    `${file}:29: there is no field datum here`,
    `${file}:28: \${schema.spec.size} does not fit here: it is an integer where a string is needed`,
  ]);
});

test("YAML that cannot be read names its line", () => {
  const file = join(folder, "broken.yml");
  writeFileSync(file, "apiVersion: v1\nkind: [a\n");
  expect(() => readDefinitionFiles(file)).toThrow(`${file}:`);
});
