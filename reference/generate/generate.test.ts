import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { definitionPackages } from "./definitions.ts";
import { readGoPackage } from "./go-structs.ts";
import { literal } from "./output.ts";
import { readProtoFile } from "./proto-files.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "keelson-generate-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe("Go sources", () => {
  it("give JSON names, pointers, omission and inlining by field number", () => {
    const source = [
      "package v1",
      'import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"',
      'const GroupName = "example.io"',
      "type Widget struct {",
      '\tmetav1.TypeMeta `json:",inline"`',
      '\tHandler `json:",inline" protobuf:"bytes,1,opt,name=handler"`',
      '\tSize *int32 `json:"size,omitempty" protobuf:"varint,2,opt,name=size"`',
      '\tMade metav1.Time `json:"made,omitempty,omitzero" protobuf:"bytes,3,opt,name=made"`',
      "}",
      "type Empty struct{}",
      "type Values []string",
      "type Listing metav1.List",
    ];
    writeFileSync(join(directory, "types.go"), source.join("\n"));
    writeFileSync(join(directory, "types_test.go"), "type Hidden struct {\n}");
    const found = readGoPackage(directory);
    const plain = { inline: false, omitEmpty: false, omitZero: false };
    expect(found.structs.get("Widget")).toEqual([
      { ...plain, number: 1, jsonName: "", goType: "Handler", inline: true },
      { ...plain, number: 2, jsonName: "size", goType: "*int32", omitEmpty: true },
      { ...plain, number: 3, jsonName: "made", goType: "metav1.Time", omitEmpty: true, omitZero: true },
    ]);
    expect([...found.structs.keys()]).toEqual(["Widget", "Empty"]);
    expect(found.groupName).toBe("example.io");
    expect([...found.slices]).toEqual(["Values"]);
    expect(found.derived.get("Listing")).toEqual({
      importPath: "k8s.io/apimachinery/pkg/apis/meta/v1",
      name: "List",
    });
  });
});

describe("protobuf files", () => {
  it("give numbers, labels and full type names", () => {
    const path = join(directory, "generated.proto");
    const head = ["package k8s.io.api.example.v1;", "// A comment.", "message Widget {"];
    const fields = [
      "  optional .k8s.io.api.core.v1.Pod pod = 1;",
      "  map<string, Size> sizes = 2;",
      "  repeated string names = 7;",
    ];
    writeFileSync(path, [...head, ...fields, "}"].join("\n"));
    expect(readProtoFile(path)).toEqual({
      package: "k8s.io.api.example.v1",
      messages: [
        {
          name: "Widget",
          fields: [
            { number: 1, label: "optional", type: "k8s.io.api.core.v1.Pod" },
            { number: 2, label: "map", type: "k8s.io.api.example.v1.Size" },
            { number: 7, label: "repeated", type: "string" },
          ],
        },
      ],
    });
  });

  it("with anything else in them are refused", () => {
    const path = join(directory, "generated.proto");
    writeFileSync(path, "package a;\nmessage Widget {\n  oneof kind {\n}\n");
    expect(() => readProtoFile(path)).toThrow(/a line this reader does not know/);
  });
});

describe("definitions", () => {
  const ref = { $ref: "#/components/schemas/io.k8s.api.core.v1.Pod" };

  it("become short lines without any prose", () => {
    const properties = {
      pods: {
        description: "prose",
        type: "array",
        items: { allOf: [ref], default: {} },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name", "port"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
      },
      mode: { type: "string", enum: ["cert sign", "B"], default: "B" },
    };
    const widget = { description: "prose", type: "object", required: ["mode"], properties };
    const [found] = definitionPackages(new Map([["io.example.v1.Widget", widget]]));
    expect(found?.text).toBe(
      'Widget o\n mode! s(cert sign|B)="B"\n pods [@core.v1.Pod={}]~map(name,port)^merge(name)',
    );
  });

  it("with a word the notation lacks are refused", () => {
    const odd = { type: "object", properties: { a: { type: "string", "x-new": true } } };
    expect(() => definitionPackages(new Map([["io.example.v1.Odd", odd]]))).toThrow(
      /has x-new, for which the notation has no word/,
    );
  });
});

describe("literals", () => {
  it("quote keys only where they must", () => {
    expect(literal({ a: ["x", 1], "b-c": null, d: {} })).toBe('{ a: ["x", 1], "b-c": null, d: {} }');
  });
});
