/** Versions are added to a resource's source without touching what a person wrote there. */
import { expect, test } from "vitest";
import { addVersion } from "./add-version.ts";
import { objectLiteralAt } from "./object-literal.ts";

const edited = `/** Cache. */
import { resource, z } from "keelson";

const sizes = { small: 1 }; // not a version: "v1"

export const Cache = resource({
  group: "cache.example.com",
  kind: "Cache",
  // People type this.
  shortNames: ["ca"],
  version: "v1alpha1",
  /** What users write, with { a brace and a "quote. */
  spec: z.object({
    pattern: z.string().regex(/^[a-z,}"]+$/).default("a"), // , }
    text: z.string().default(\`\${sizes.small} } ,\`),
  }),
  columns: { Size: ".spec.size" },
});

export const other = { version: "v1beta1" };
`;

test("a resource of one version becomes one of two, with everything else as it was", () => {
  const added = addVersion(edited, "Cache", "v1beta1");
  if (added === undefined || added === "there") throw new Error("not added");
  expect(added.stored).toBe("v1alpha1");
  expect(added.text).toBe(`/** Cache. */
import { resource, z } from "keelson";

const sizes = { small: 1 }; // not a version: "v1"

export const Cache = resource({
  group: "cache.example.com",
  kind: "Cache",
  // People type this.
  shortNames: ["ca"],
  versions: {
    v1alpha1: {
      /** What users write, with { a brace and a "quote. */
      spec: z.object({
        pattern: z.string().regex(/^[a-z,}"]+$/).default("a"), // , }
        text: z.string().default(\`\${sizes.small} } ,\`),
      }),
      columns: { Size: ".spec.size" },
    },
    v1beta1: {
      /** What users write, with { a brace and a "quote. */
      spec: z.object({
        pattern: z.string().regex(/^[a-z,}"]+$/).default("a"), // , }
        text: z.string().default(\`\${sizes.small} } ,\`),
      }),
      columns: { Size: ".spec.size" },
    },
  },
  storage: "v1alpha1",
  conversions: {
    v1beta1: {
      toStored: ({ spec, status }) => ({ spec, ...(status && { status }) }),
      fromStored: ({ spec, status }) => ({ spec, ...(status && { status }) }),
    },
  },
});

export const other = { version: "v1beta1" };
`);
  expect(addVersion(added.text, "Cache", "v1beta1")).toBe("there");
  const third = addVersion(added.text, "Cache", "v1");
  if (third === undefined || third === "there") throw new Error("not added");
  expect(third.text.match(/^ {4}v1: \{$/gm)).toHaveLength(2);
  // All that was there is still there, line by line.
  const lines = third.text.split("\n");
  let at = 0;
  for (const line of added.text.split("\n")) {
    const found = lines.indexOf(line, at);
    expect(found, line).toBeGreaterThanOrEqual(at);
    at = found + 1;
  }
});

test("what is there already, and what has another form, is left alone", () => {
  expect(addVersion(edited, "Cache", "v1alpha1")).toBe("there");
  expect(addVersion(edited, "Bucket", "v1")).toBeUndefined();
  expect(addVersion("export const Cache = resource(definition);", "Cache", "v1")).toBeUndefined();
  expect(
    addVersion('export const Cache = resource({ ...names, version: "v1", spec });', "Cache", "v2"),
  ).toBeUndefined();
  expect(
    addVersion("export const Cache = resource({ version, spec: z.object({}) });", "Cache", "v2"),
  ).toBeUndefined();
});

test("an object literal is read by its brackets, strings, patterns and comments", () => {
  const source = '{ a: 1, "b-c": [1, { d: 2 }], /* } */ e: (x) => ({ y: "}" }), }';
  expect(objectLiteralAt(source, 0)?.properties.map(({ name }) => name)).toEqual(["a", "b-c", "e"]);
  expect(objectLiteralAt(source, 0)?.to).toBe(source.length - 1);
  expect(objectLiteralAt("{ a: ", 0)).toBeUndefined();
  expect(objectLiteralAt("{ method() {} }", 0)).toBeUndefined();
});
