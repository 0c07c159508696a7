import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type JsonObject, parseJson } from "@keelson/core";
import { describe, expect, it } from "vitest";
import { canEncode, decode, encode, encodeWatchFrame } from "./index.ts";
import kubectlBodies from "./kubectl-bodies.json" with { type: "json" };

const goModules =
  process.env.GOMODCACHE ?? join(process.env.GOPATH?.split(":")[0] ?? join(homedir(), "go"), "pkg/mod");
const upstream = join(goModules, "k8s.io/api@v0.36.4/testdata/HEAD");
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("encoding", () => {
  it.each(kubectlBodies)("gives the bytes that kubectl sends: $command", ({ hex, object }) => {
    expect(hexOf(encode(object as unknown as JsonObject))).toBe(hex);
  });

  it("leaves out what the kind does not have", () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { b: "c" } };
    expect(hexOf(encode({ ...object, size: 3 }))).toBe(hexOf(encode(object)));
  });

  it("writes maps by key, whatever their order", () => {
    const map = (data: JsonObject) => hexOf(encode({ apiVersion: "v1", kind: "ConfigMap", data }));
    expect(map({ b: "2", a: "1" })).toBe(map({ a: "1", b: "2" }));
  });

  it("keeps negative and large numbers", () => {
    const object = {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { generation: 2 ** 52 },
      value: -7,
    };
    expect(decode(encode(object)).object).toEqual(object);
  });

  it("keeps numbers beyond 53 bits as they are", () => {
    const text =
      '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{},"revision":-9007199254740993}';
    const { revision } = decode(encode(parseJson(text) as JsonObject)).object as JsonObject;
    expect(JSON.stringify(revision)).toBe("-9007199254740993");
  });

  it("refuses a value of the wrong type and says where", () => {
    const broken = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      spec: { template: { spec: { containers: [{ name: 1 }] } } },
    };
    expect(() => encode(broken)).toThrow(
      /Deployment\.spec\.template\.spec\.containers\[0\]\.name is not a string but 1/,
    );
    const time = { apiVersion: "v1", kind: "Pod", metadata: { creationTimestamp: "yesterday" } };
    expect(() => encode(time)).toThrow(expect.objectContaining({ code: "Unfit" }));
  });

  it("is for built-in kinds only", () => {
    expect(canEncode("apps/v1", "Deployment")).toBe(true);
    expect(canEncode("meta.k8s.io/v1", "Table")).toBe(false);
    expect(() => encode({ apiVersion: "example.com/v1", kind: "Widget" })).toThrow(
      /Widget of example.com\/v1/,
    );
  });

  it("frames watch events by length", () => {
    const object = encode({ apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
    const frame = Buffer.from(encodeWatchFrame("ADDED", [object]));
    expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
    expect(hexOf(frame).endsWith(hexOf(object))).toBe(true);
    const envelope = Buffer.concat([
      Buffer.from("6b387300", "hex"),
      Buffer.from([0x12, frame.length - 4]),
      frame.subarray(4),
    ]);
    expect(decode(envelope, { apiVersion: "v1", kind: "WatchEvent" }).object).toMatchObject({
      type: "ADDED",
      object: { kind: "Namespace", metadata: { name: "a" } },
    });
  });
});

describe.skipIf(!existsSync(upstream))(
  "upstream's test data (needs k8s.io/api@v0.36.4 in the Go module cache)",
  () => {
    const names = existsSync(upstream) ? readdirSync(upstream).filter((name) => name.endsWith(".pb")) : [];

    it.each(names.filter((name) => name !== "core.v1.WatchEvent.pb"))(
      "%s comes out byte for byte",
      (name) => {
        const object = JSON.parse(
          readFileSync(join(upstream, name.replace(/pb$/, "json")), "utf8"),
        ) as JsonObject;
        expect(hexOf(encode(object))).toBe(hexOf(readFileSync(join(upstream, name))));
      },
    );
  },
);
