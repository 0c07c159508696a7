import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DecodeOptions, decode, isProtobuf, ProtobufError } from "./index.ts";
import kubectlBodies from "./kubectl-bodies.json" with { type: "json" };

const goModules =
  process.env.GOMODCACHE ?? join(process.env.GOPATH?.split(":")[0] ?? join(homedir(), "go"), "pkg/mod");
const upstream = join(goModules, "k8s.io/api@v0.36.4/testdata/HEAD");

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(" ", ""), "hex");
const magic = "6b387300";
const varint = (value: number): string =>
  value < 128
    ? value.toString(16).padStart(2, "0")
    : ((value & 127) | 128).toString(16) + varint(value >>> 7);
/** A length-delimited field. */
const part = (number: number, content: string): string =>
  varint((number << 3) | 2) + varint(content.length / 2) + content;
const text = (value: string): string => Buffer.from(value).toString("hex");
const enveloped = (apiVersion: string, kind: string, raw: string): Uint8Array =>
  hex(magic + part(1, part(1, text(apiVersion)) + part(2, text(kind))) + part(2, raw));

describe("what kubectl sends", () => {
  it.each(kubectlBodies)(
    "is read as kubectl writes the same object in JSON: $command",
    ({ hex: body, object }) => {
      const decoded = decode(hex(body));
      expect(JSON.stringify(decoded.object)).toBe(JSON.stringify(object));
      expect(decoded).toMatchObject({ apiVersion: object.apiVersion, kind: object.kind });
    },
  );
});

describe.skipIf(!existsSync(upstream))(
  `upstream's test data (needs k8s.io/api@v0.36.4 in the Go module cache)`,
  () => {
    const names = existsSync(upstream) ? readdirSync(upstream).filter((name) => name.endsWith(".pb")) : [];

    it("covers the built-in kinds", () => {
      expect(names.length).toBeGreaterThanOrEqual(185);
    });

    it.each(names)("%s gives the same JSON as its sibling", (name) => {
      const expected: unknown = JSON.parse(readFileSync(join(upstream, name.replace(/pb$/, "json")), "utf8"));
      // Watch events are the one thing that is enveloped without a name.
      const options: DecodeOptions =
        name === "core.v1.WatchEvent.pb" ? { apiVersion: "v1", kind: "WatchEvent" } : {};
      expect(decode(readFileSync(join(upstream, name)), options).object).toEqual(expected);
    });
  },
);

describe("absent and zero values", () => {
  it("fill structs that were not sent, as Go's zero values do", () => {
    expect(decode(enveloped("apps/v1", "Deployment", "")).object).toEqual({
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata: {},
      spec: { selector: null, template: { metadata: {}, spec: { containers: null } }, strategy: {} },
      status: {},
    });
  });

  it("tell a pointer to zero from no pointer", () => {
    const withZero = decode(enveloped("apps/v1", "Deployment", part(2, "0800"))).object;
    expect(withZero.spec).toHaveProperty("replicas", 0);
    const without = decode(enveloped("apps/v1", "Deployment", part(2, ""))).object;
    expect(without.spec).not.toHaveProperty("replicas");
  });

  it("write a time without bytes as null and the epoch as a time", () => {
    const event = (fields: string) => decode(enveloped("v1", "Event", fields)).object;
    expect(event("")).toMatchObject({ firstTimestamp: null, eventTime: null });
    expect(event(part(6, "08001000"))).toMatchObject({ firstTimestamp: "1970-01-01T00:00:00Z" });
    expect(event(part(10, "08011087ad4b"))).toMatchObject({ eventTime: "1970-01-01T00:00:01.001234Z" });
  });

  it("keep a map's odd keys as data", () => {
    const body = enveloped("v1", "ConfigMap", part(2, part(1, text("__proto__")) + part(2, text("x"))));
    const data = decode(body).object.data as Record<string, string>;
    expect(Object.entries(data)).toEqual([["__proto__", "x"]]);
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
  });

  it("merge the parts of a message that comes in pieces", () => {
    const body = enveloped("v1", "Pod", part(1, part(1, text("a"))) + part(1, part(3, text("b"))));
    expect(decode(body).object.metadata).toEqual({ name: "a", namespace: "b" });
  });
});

describe("the envelope", () => {
  it("is known by its first bytes", () => {
    expect(isProtobuf(hex(magic))).toBe(true);
    expect(isProtobuf(hex("7b7d"))).toBe(false);
    expect(() => decode(hex("7b7d"))).toThrow(expect.objectContaining({ code: "NotEnveloped" }));
  });

  it("may leave apiVersion and kind to the request", () => {
    const body = hex(magic + part(2, part(1, part(1, text("a")))));
    expect(decode(body, { apiVersion: "v1", kind: "Namespace" }).object).toMatchObject({
      metadata: { name: "a" },
    });
    expect(() => decode(body)).toThrow(expect.objectContaining({ code: "UnknownKind" }));
  });

  it("may name a shared kind under any group-version", () => {
    expect(decode(enveloped("v1", "DeleteOptions", "0800")).object).toMatchObject({ gracePeriodSeconds: 0 });
    const body = enveloped("v1", "Status", part(2, text("Failure")));
    expect(decode(body).object).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
    });
  });

  it("of a custom kind is refused by name", () => {
    const body = enveloped("example.com/v1", "Widget", "");
    expect(() => decode(body)).toThrow(/no built-in kind is Widget of example.com\/v1/);
  });
});

describe("hostile bytes", () => {
  it.each([
    ["a length beyond the end", part(1, "0a7f61")],
    ["a wrong wire type", "0801"],
    ["an endless varint", "2affffffffffffffffffff01"],
    ["an end of group without its start", "7c"],
    ["the field number zero", "0201"],
    ["something else where raw JSON belongs", part(1, part(17, part(7, part(1, text("{{")))))],
  ])("with %s are refused", (_, raw) => {
    expect(() => decode(enveloped("v1", "Pod", raw))).toThrow(ProtobufError);
  });

  it("cannot nest without end", () => {
    let schema = "";
    for (let level = 0; level < 5000; level++) schema = part(28, schema);
    const raw = part(2, part(7, part(4, part(1, schema))));
    const body = enveloped("apiextensions.k8s.io/v1", "CustomResourceDefinition", raw);
    expect(() => decode(body)).toThrow(expect.objectContaining({ code: "TooLarge" }));
  });

  it("cannot buy memory with empty messages", () => {
    const items = "1200".repeat(60);
    const body = enveloped("v1", "PodList", items);
    expect(() => decode(body, { maxMessages: 100 })).toThrow(expect.objectContaining({ code: "TooLarge" }));
    expect(decode(body).object.items).toHaveLength(60);
  });

  const kinds = [
    ["v1", "Pod"],
    ["apps/v1", "Deployment"],
    ["v1", "Event"],
    ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
    ["v1", "WatchEvent"],
    ["v1", "List"],
  ] as const;

  it("of any kind give an object or a ProtobufError", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.uint8Array({ maxLength: 200 }),
        ([apiVersion, kind], bytes) => {
          const envelope = hex(magic + part(2, Buffer.from(bytes).toString("hex")));
          expectObjectOrError(envelope, { apiVersion, kind });
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("made from real bodies by changing some give an object or a ProtobufError", () => {
    const bodies = kubectlBodies.map((entry) => hex(entry.hex));
    const change = fc.record({ at: fc.nat(400), to: fc.nat(255) });
    fc.assert(
      fc.property(
        fc.constantFrom(...bodies),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.nat(20),
        (body, changes, cut) => {
          const mutated = Uint8Array.from(body.subarray(0, Math.max(4, body.length - cut)));
          for (const { at, to } of changes) if (at >= 4 && at < mutated.length) mutated[at] = to;
          expectObjectOrError(mutated, {});
        },
      ),
      { numRuns: 3000 },
    );
  });
});

function expectObjectOrError(bytes: Uint8Array, options: DecodeOptions): void {
  try {
    JSON.stringify(decode(bytes, options).object);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
  }
}
