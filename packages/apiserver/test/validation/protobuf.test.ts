/** What a client sends as protobuf is what it would have sent as JSON. */
import type { JsonObject } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apiServer } from "../../src/index.ts";
import { canEncode, encode } from "../../src/protobuf/index.ts";
import { objects } from "./objects.ts";
import { plain } from "./plain.ts";
import { signingRequest } from "./signing-request.ts";
import { variations } from "./variations.ts";

const known = objects
  .map(([path, template]) => {
    const text = JSON.stringify(template).replace('"CSR"', JSON.stringify(signingRequest));
    return [path, JSON.parse(text) as JsonObject] as const;
  })
  .filter(([, object]) => canEncode(String(object.apiVersion), String(object.kind)));

/** An object with one value changed or gone; undefined where that has no form in protobuf. */
function encoded(object: JsonObject): Uint8Array | undefined {
  try {
    return encode(object);
  } catch {
    return undefined;
  }
}

describe("protobuf bodies", () => {
  it("of any object, whole or faulty, are answered as their JSON is", { timeout: 120_000 }, async () => {
    await using server = await apiServer({ flags: {} });
    const send = async (path: string, type: string, body: string | Uint8Array) => {
      const headers = { "content-type": type, accept: "application/json", "user-agent": "test" };
      const response = await server.http.request({ method: "POST", path, headers, body });
      let text = "";
      for await (const chunk of response.body) text += Buffer.from(chunk).toString();
      return [response.status, plain(JSON.parse(text))];
    };
    const make = (kind: string, metadata: JsonObject, path: string) =>
      send(path, "application/json", JSON.stringify({ apiVersion: "v1", kind, metadata }));
    await make("Namespace", { name: "shapes" }, "/api/v1/namespaces");
    await make("ServiceAccount", { name: "default" }, "/api/v1/namespaces/shapes/serviceaccounts");
    expect(known.length).toBeGreaterThan(60);
    const chosen = fc.constantFrom(...known).chain(([path, object]) => {
      const all = [object, ...[...variations(object)].map((variation) => variation.object as JsonObject)];
      return fc.tuple(fc.constant(path), fc.constantFrom(...all));
    });
    const property = fc.asyncProperty(chosen, async ([path, object]) => {
      const bytes = encoded(object);
      // Protobuf has no word for a list without items.
      if (!bytes || JSON.stringify(object).includes("[]")) return;
      const trial = `${path}?dryRun=All`;
      const asJson = await send(trial, "application/json", JSON.stringify(object));
      // What is not even of the kind cannot be said in protobuf.
      if (asJson[0] === 400) return;
      expect(await send(trial, "application/vnd.kubernetes.protobuf", bytes)).toEqual(asJson);
    });
    await fc.assert(property, { numRuns: 300 });
  });
});
