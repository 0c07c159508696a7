import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { mismatch, signers } from "./request-rules.ts";

const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const node = { commonName: "system:node:a", organizations: ["system:nodes"] };
const client = ["digital signature", "client auth"];
const server = ["digital signature", "key encipherment", "server auth"];

describe("a kubelet's client certificate", () => {
  const asked = (subject: typeof node, names: string[] = [], usages = client) =>
    mismatch(signers.kubeletClient, { subject, names, publicKey }, usages);

  test("is for a node, and only to be a client", () => {
    expect(asked(node)).toBeUndefined();
    expect(asked(node, [], [...client, "key encipherment"])).toBeUndefined();
    expect(asked(node, [], server)).toMatch(/^usages did not match/);
  });

  test("names a node of the group of nodes, and no host", () => {
    expect(asked({ ...node, organizations: ["x"] })).toBe("subject organization is not system:nodes");
    expect(asked({ ...node, commonName: "joe" })).toBe(
      "subject common name does not begin with system:node:",
    );
    expect(asked(node, ["host"])).toBe("DNS subjectAltNames are not allowed");
    expect(asked(node, ["1.2.3.4"])).toBe("IP subjectAltNames are not allowed");
  });
});

test("a kubelet's serving certificate names its host", () => {
  const asked = (names: string[]) =>
    mismatch(signers.kubeletServing, { subject: node, names, publicKey }, server);
  expect(asked(["host"])).toBeUndefined();
  expect(asked([])).toBe("DNS or IP subjectAltName is required");
});

test("any client may ask for a client's certificate, and for nothing more", () => {
  const asked = (usages: string[]) =>
    mismatch(signers.client, { subject: { commonName: "joe" }, names: [], publicKey }, usages);
  expect(asked(["client auth"])).toBeUndefined();
  expect(asked(["digital signature"])).toBe("missing required usage for client certificate: client auth");
  expect(asked(["server auth"])).toBe("invalid usage for client certificate: server auth");
});
