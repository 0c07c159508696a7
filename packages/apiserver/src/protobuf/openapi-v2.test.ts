import { describe, expect, it } from "vitest";
import { openApiV2 } from "../tables/index.ts";
import { encodeOpenApiV2 } from "./index.ts";

const reference = { $ref: "#/definitions/A" };
const document = {
  swagger: "2.0",
  info: { title: "T", version: "1" },
  paths: {
    "/a/{name}": {
      get: {
        tags: ["t"],
        operationId: "readA",
        produces: ["application/json"],
        parameters: [{ name: "watch", in: "query", type: "boolean", uniqueItems: true }],
        responses: { 200: { description: "OK", schema: reference } },
        schemes: ["https"],
      },
      put: {
        parameters: [{ name: "body", in: "body", required: true, schema: reference }],
        responses: { 401: { description: "Unauthorized" } },
      },
      parameters: [{ name: "name", in: "path", required: true, type: "string", uniqueItems: true }],
    },
  },
  definitions: {
    A: {
      type: "object",
      required: ["n"],
      properties: {
        n: { type: "array", items: { type: "string" } },
        m: { type: "object", additionalProperties: { type: "integer", format: "int32" } },
        p: { type: "number", maximum: 1.5, minLength: 300 },
      },
    },
  },
  securityDefinitions: { B: { type: "apiKey", name: "authorization", in: "header" } },
  security: [{ B: [] }],
};

/** What the Go library that kubectl decodes with writes for the same document. */
const expected = [
  "0a03322e3012060a015412013142e30112e0010a092f612f7b6e616d657d12d201126b0a01742a057265616441321061",
  "70706c69636174696f6e2f6a736f6e42200a1e121c1a1a12057175657279220577617463683207626f6f6c65616ea001",
  "014a240a220a03323030121b0a190a024f4b12130a110a0f232f646566696e6974696f6e732f41520568747470731a42",
  "42250a230a211204626f64791a04626f647920012a110a0f232f646566696e6974696f6e732f414a190a170a03343031",
  "12100a0e0a0c556e617574686f72697a65644a1f0a1d121b2219080112047061746822046e616d652a06737472696e67",
  "9801014a83010a80010a0141127b9a01016eb201080a066f626a656374ca01690a1f0a016e121ab201070a0561727261",
  "79ba010d0a0bb201080a06737472696e670a280a016d1223aa01150a131205696e743332b201090a07696e7465676572",
  "b201080a066f626a6563740a1c0a0170121739000000000000f83f60ac02b201080a066e756d62657262070a050a0142",
  "12006a280a260a01421221121f0a066170694b6579120d617574686f72697a6174696f6e1a06686561646572",
].join("");

describe("OpenAPI v2 in protobuf", () => {
  it("is byte for byte what the Go library writes", () => {
    expect(Buffer.from(encodeOpenApiV2(document)).toString("hex")).toBe(expected);
  });

  it("carries extensions as YAML", () => {
    const kind = { group: "", kind: "A", version: "v1" };
    const extended = { definitions: { A: { "x-kubernetes-group-version-kind": [kind] } } };
    const text = Buffer.from(encodeOpenApiV2(extended)).toString("utf8");
    expect(text).toContain("x-kubernetes-group-version-kind");
    expect(text).toContain(JSON.stringify([kind]));
  });

  it("holds the whole document", () => {
    const text = Buffer.from(encodeOpenApiV2(openApiV2())).toString("latin1");
    expect(text).toContain("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
    expect(text).toContain("io.k8s.api.core.v1.PodSpec");
  });
});
