import { describe, expect, test } from "vitest";
import {
  annotationsBytes,
  byteLength,
  generateName,
  validateAnnotationKey,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateGenerateName,
  validateLabelValue,
  validateQualifiedName,
} from "./names.ts";
import type { Random } from "./ports.ts";

const sequence = (...values: number[]): Random => {
  let at = 0;
  return {
    next: () => values[at++ % values.length] as number,
    bytes: () => new Uint8Array(),
    uuid: () => "",
    fork: () => sequence(...values),
  };
};

describe("names", () => {
  test("what is valid has no problems", () => {
    expect(validateDns1123Label("a-1")).toEqual([]);
    expect(validateDns1123Subdomain("a.b-c.1")).toEqual([]);
    expect(validateDns1035Label("a1")).toEqual([]);
    expect(validateQualifiedName("example.com/My_name.1")).toEqual([]);
    expect(validateLabelValue("")).toEqual([]);
    expect(validateLabelValue("A.b_c-1")).toEqual([]);
  });

  test("a label says why it is none", () => {
    expect(validateDns1123Label("a.b")).toEqual(["must not contain dots"]);
    expect(validateDns1123Label("A")).toEqual([
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ]);
    expect(validateDns1035Label("1a")[0]).toMatch(/^a DNS-1035 label must consist of/);
  });

  test("object names are too long in characters, label keys and values in bytes", () => {
    expect(validateDns1123Subdomain("n".repeat(254))).toEqual(["must be no more than 253 characters"]);
    expect(validateDns1123Label("n".repeat(64))).toEqual(["must be no more than 63 characters"]);
    expect(validateQualifiedName("l".repeat(64))).toEqual(["name part must be no more than 63 bytes"]);
    expect(validateQualifiedName(`${"p".repeat(254)}/a`)).toEqual([
      "prefix part must be no more than 253 bytes",
    ]);
    expect(validateLabelValue("v".repeat(64))).toEqual(["must be no more than 63 bytes"]);
  });

  test("a qualified name has one prefix and one name", () => {
    expect(validateQualifiedName("/a")).toEqual(["prefix part must be non-empty"]);
    expect(validateQualifiedName("a/")[0]).toBe("name part must be non-empty");
    expect(validateQualifiedName("a/b/c")).toEqual([
      "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ]);
  });

  test("a line break at the end is not overlooked", () => {
    expect(validateDns1123Label("a\n")).toHaveLength(1);
    expect(validateLabelValue("a\n")).toHaveLength(1);
  });

  test("annotation keys may have capitals in their prefix", () => {
    expect(validateQualifiedName("Example.com/a")).toHaveLength(1);
    expect(validateAnnotationKey("Example.com/a")).toEqual([]);
  });

  test("sizes are counted in bytes", () => {
    for (const text of ["", "a", "é", "€", "😀", "a€😀"])
      expect(byteLength(text)).toBe(Buffer.byteLength(text));
    expect(annotationsBytes({ a: "é", "€": "" })).toBe(6);
  });
});

describe("generated names", () => {
  test("five characters without vowels follow the base", () => {
    expect(generateName("web-", sequence(0, 0.5, 0.999, 0.1, 0.2))).toBe("web-br9dh");
  });

  test("a long base is cut so that the name has 63 characters", () => {
    expect(generateName("a".repeat(80), sequence(0))).toBe(`${"a".repeat(58)}bbbbb`);
  });

  test("a trailing dash is allowed because characters follow", () => {
    expect(validateGenerateName("web-", validateDns1123Label)).toEqual([]);
    expect(validateGenerateName("-", validateDns1123Label)).toHaveLength(1);
    expect(validateGenerateName("web_", validateDns1123Label)).toHaveLength(1);
  });
});
