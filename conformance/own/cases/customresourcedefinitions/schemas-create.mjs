// Schemas that are refused.
import { crd, crdPath, dryRun, objectSchema, test } from "../_lib.mjs";
import { specSchema } from "./_builders.mjs";

const invalidSchemas = (name, schemas) =>
  test(name, (t) => {
    for (const s of schemas) t.post(crdPath, crd(s), dryRun);
  });

export default [
  invalidSchemas("CustomResourceDefinition create: invalid types", [
    specSchema({ a: {} }),
    specSchema({ a: { type: "bogus" } }),
    specSchema({ a: { type: "array" } }),
    specSchema({ a: { type: "array", items: {} } }),
    specSchema({
      a: { type: "object", properties: { b: { type: "integer" } }, additionalProperties: { type: "string" } },
    }),
    specSchema({ a: { type: "object", additionalProperties: false } }),
    specSchema({ a: { type: "object", additionalProperties: true } }),
    { type: "string" },
    { type: "array", items: { type: "string" } },
    {},
    { type: "object", additionalProperties: { type: "string" } },
    objectSchema({ metadata: { type: "string" } }),
    objectSchema({ metadata: { type: "object", properties: { labels: { type: "object" } } } }),
    objectSchema({ apiVersion: { type: "integer" } }),
    objectSchema({ kind: { type: "string", pattern: "x" } }),
    objectSchema({ metadata: { type: "object", properties: { name: { type: "string", maxLength: 4 } } } }),
    objectSchema({
      metadata: { type: "object", properties: { generateName: { type: "string", maxLength: 4 } } },
    }),
  ]),
  invalidSchemas("CustomResourceDefinition create: invalid keywords", [
    specSchema({ a: { type: "string", $ref: "#/x" } }),
    specSchema({ a: { type: "string", definitions: { a: {} } } }),
    specSchema({ a: { type: "object", patternProperties: { a: { type: "string" } } } }),
    specSchema({ a: { type: "string", id: "x" } }),
    specSchema({ a: { type: "array", items: [{ type: "string" }] } }),
    specSchema({ a: { type: "array", items: { type: "string" }, uniqueItems: true } }),
    specSchema({ a: { type: "array", items: { type: "string" }, additionalItems: true } }),
    specSchema({ a: { type: "object", dependencies: { a: ["b"] } } }),
    specSchema({ a: { type: "string", $schema: "x" } }),
    specSchema({ a: { type: "string", nullable: true, default: null } }),
    specSchema({ a: { type: "string", bogus: 1 } }),
    specSchema({ a: { type: "null" } }),
    specSchema({ a: { type: "string", pattern: "(" } }),
    specSchema({ a: { type: "string", pattern: "(?=x)" } }),
    specSchema({ a: { type: "integer", minimum: 5, maximum: 3 } }),
    specSchema({ a: { type: "string", enum: [] } }),
    specSchema({ a: { type: "string", enum: ["a", "a"] } }),
    specSchema({ a: { type: "string", enum: [1] } }),
    specSchema({ a: { type: "string", format: "bogus" } }),
    specSchema({ a: { type: "string", minLength: -1 } }),
    specSchema({ a: { type: "integer", multipleOf: 0 } }),
    specSchema({ a: { type: "integer", multipleOf: -2 } }),
    specSchema({ a: { type: "array", items: { type: "string" }, maxItems: -1 } }),
    specSchema({ a: { type: "object", required: ["x"] } }),
    specSchema({ a: { type: "object", required: ["x", "x"] } }),
  ]),
  invalidSchemas("CustomResourceDefinition create: invalid x-kubernetes extensions", [
    specSchema({ a: { type: "string", "x-kubernetes-preserve-unknown-fields": true } }),
    specSchema({ a: { type: "object", "x-kubernetes-preserve-unknown-fields": false } }),
    specSchema({ a: { type: "string", "x-kubernetes-int-or-string": true } }),
    specSchema({
      a: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
    }),
    specSchema({
      a: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "string" }, { type: "integer" }] },
    }),
    specSchema({ a: { type: "object", "x-kubernetes-embedded-resource": true } }),
    specSchema({ a: { type: "string", "x-kubernetes-embedded-resource": true } }),
    specSchema({ a: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "bogus" } }),
    specSchema({ a: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "map" } }),
    specSchema({
      a: {
        type: "array",
        items: { type: "object", properties: { k: { type: "string" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
    }),
    specSchema({
      a: {
        type: "array",
        items: { type: "object", required: ["k"], properties: { k: { type: "object" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
    }),
    specSchema({
      a: {
        type: "array",
        items: { type: "object", required: ["k"], properties: { k: { type: "string" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["z"],
      },
    }),
    specSchema({
      a: {
        type: "array",
        items: { type: "object", required: ["k"], properties: { k: { type: "string" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k", "k"],
      },
    }),
    specSchema({
      a: {
        type: "array",
        items: { type: "string" },
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-list-map-keys": ["k"],
      },
    }),
    specSchema({ a: { type: "object", "x-kubernetes-list-type": "atomic" } }),
    specSchema({
      a: {
        type: "array",
        items: { type: "object", properties: { b: { type: "integer" } } },
        "x-kubernetes-list-type": "set",
      },
    }),
    specSchema({
      a: {
        type: "array",
        items: { type: "object", "x-kubernetes-map-type": "atomic" },
        "x-kubernetes-list-type": "set",
      },
    }),
    specSchema({
      a: {
        type: "array",
        items: { type: "array", items: { type: "string" } },
        "x-kubernetes-list-type": "set",
      },
    }),
    specSchema({
      a: { type: "array", items: { type: "string", nullable: true }, "x-kubernetes-list-type": "set" },
    }),
    specSchema({ a: { type: "array", items: { type: "object" }, "x-kubernetes-map-type": "atomic" } }),
    specSchema({ a: { type: "object", "x-kubernetes-map-type": "bogus" } }),
    specSchema({
      a: {
        type: "object",
        nullable: true,
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-embedded-resource": true,
      },
    }),
  ]),
  invalidSchemas("CustomResourceDefinition create: invalid allOf, anyOf, oneOf and not", [
    specSchema({ a: { type: "string", allOf: [{ type: "string" }] } }),
    specSchema({ a: { type: "string", anyOf: [{ default: "x" }] } }),
    specSchema({ a: { type: "object", oneOf: [{ properties: { b: { type: "integer" } } }] } }),
    specSchema({
      a: {
        type: "object",
        properties: { b: { type: "integer" } },
        oneOf: [{ properties: { c: { minimum: 1 } } }],
      },
    }),
    specSchema({
      a: {
        type: "object",
        properties: { b: { type: "integer" } },
        not: { properties: { b: { minimum: 1, description: "x" } } },
      },
    }),
    specSchema({
      a: {
        type: "object",
        properties: { b: { type: "integer" } },
        anyOf: [{ properties: { b: { nullable: true } } }],
      },
    }),
    specSchema({ a: { type: "object", properties: { b: { type: "integer" } }, allOf: [{ title: "x" }] } }),
    specSchema({ a: { type: "object", allOf: [{ additionalProperties: { minimum: 1 } }] } }),
    specSchema({ a: { type: "array", items: { type: "string" }, anyOf: [{ items: { minLength: 3 } }] } }),
    specSchema({ a: { type: "string", not: { "x-kubernetes-preserve-unknown-fields": true } } }),
    specSchema({ a: { type: "object", anyOf: [{ required: ["x"] }, { required: ["y"] }] } }),
  ]),
  invalidSchemas("CustomResourceDefinition create: invalid defaults", [
    specSchema({ a: { type: "integer", default: "x" } }),
    specSchema({ a: { type: "integer", default: 1.5 } }),
    specSchema({ a: { type: "integer", minimum: 3, default: 1 } }),
    specSchema({ a: { type: "string", enum: ["a"], default: "b" } }),
    specSchema({ a: { type: "object", default: { z: 1 } } }),
    specSchema({ a: { type: "object", properties: { z: { type: "integer" } }, default: { z: "x" } } }),
    specSchema({
      a: { type: "object", required: ["z"], properties: { z: { type: "integer" } }, default: {} },
    }),
    specSchema({ a: { type: "array", items: { type: "string" }, default: [1] } }),
    specSchema({ a: { type: "string", nullable: true, default: null } }),
    objectSchema({ metadata: { type: "object", properties: { name: { type: "string", default: "x" } } } }),
    objectSchema({ apiVersion: { type: "string", default: "x" } }),
    specSchema({ a: { type: "string", default: null } }),
    specSchema({
      a: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" }, default: ["a", "a"] },
    }),
    specSchema({ a: { type: "string", pattern: "^x", default: "y" } }),
    specSchema({ a: { type: "string", format: "date-time", default: "y" } }),
    specSchema({ a: { type: "object", default: { b: 1 }, "x-kubernetes-preserve-unknown-fields": true } }),
    specSchema({
      a: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
        default: {},
      },
    }),
    specSchema({ a: { type: "integer", default: 1, "x-kubernetes-validations": [{ rule: "self > 5" }] } }),
  ]),
];
