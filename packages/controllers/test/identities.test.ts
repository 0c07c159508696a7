/** Service accounts, their secrets, certificates by request, and endpoints that people keep by hand. */

import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import type { ObjectOf } from "@keelson/core";
import {
  CertificateSigningRequest,
  ClusterRole,
  ConfigMap,
  EndpointSlice,
  Endpoints,
  Namespace,
  Secret,
  Service,
  ServiceAccount,
  TokenReview,
} from "@keelson/core/kinds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, onEveryControlPlane, until } from "./control-planes.ts";

const namespace = "people";
const text = (base64: string | undefined) => Buffer.from(base64 ?? "", "base64").toString("utf8");

/** A request for a certificate, in PEM, signed with a key that is thrown away. */
function request(subject: string): string {
  const directory = mkdtempSync(join(tmpdir(), "keelson-request-"));
  try {
    const [key, out] = [join(directory, "key"), join(directory, "request")];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    execFileSync("openssl", ["req", "-new", ...curve, "-keyout", key, "-subj", subject, "-out", out], {
      stdio: "ignore",
    });
    return readFileSync(out, "utf8");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

onEveryControlPlane("identities", (start) => {
  let plane: ControlPlane;
  let client: Client;
  beforeAll(async () => {
    plane = await start();
    client = plane.client;
    await client.kind(Namespace).create({ metadata: { name: namespace } });
  }, 60_000);
  afterAll(() => plane?.[Symbol.asyncDispose]());

  it("every namespace has an account and the authority's certificate, and gets them again", async () => {
    const account = { name: "default", namespace };
    const bundle = { name: "kube-root-ca.crt", namespace };
    const first = await until(client, ServiceAccount, account, (each) => each !== undefined);
    await client.kind(ServiceAccount).delete(account);
    await until(
      client,
      ServiceAccount,
      account,
      (each) => each !== undefined && each.metadata.uid !== first.metadata.uid,
    );
    const published = await until(client, ConfigMap, bundle, (each) => each !== undefined);
    await client.kind(ConfigMap).patch(bundle, { type: "merge", body: { data: { "ca.crt": "other" } } });
    await until(client, ConfigMap, bundle, (each) => each?.data?.["ca.crt"] === published.data?.["ca.crt"]);
  });

  it("a secret for an account holds a token that is good, and goes with the account", async () => {
    await client.kind(ServiceAccount).create({ metadata: { name: "robot", namespace } });
    const ref = { name: "robot-token", namespace };
    await client.kind(Secret).create({
      metadata: { ...ref, annotations: { "kubernetes.io/service-account.name": "robot" } },
      type: "kubernetes.io/service-account-token",
    });
    const filled = await until(client, Secret, ref, (each) => Boolean(each?.data?.token));
    expect(text(filled.data?.namespace)).toBe(namespace);
    expect(text(filled.data?.["ca.crt"])).toContain("BEGIN CERTIFICATE");
    const review = await client.kind(TokenReview).create({ spec: { token: text(filled.data?.token) } });
    expect(review.status?.user?.username).toBe(`system:serviceaccount:${namespace}:robot`);
    await client.kind(ServiceAccount).delete({ name: "robot", namespace });
    await until(client, Secret, ref, (each) => each === undefined);
  });

  it("an approved request gets a certificate of its subject, for as long as it asked", async () => {
    await client.kind(CertificateSigningRequest).create({
      metadata: { name: "joe" },
      spec: {
        request: Buffer.from(request("/O=people/CN=joe")).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"],
        expirationSeconds: 3600,
      },
    });
    const asked = await client.kind(CertificateSigningRequest).get({ name: "joe" });
    const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "" }];
    await client
      .kind(CertificateSigningRequest)
      .subresource("approval")
      .update({ ...asked, status: { conditions } });
    const signed = await until(client, CertificateSigningRequest, { name: "joe" }, (each) =>
      Boolean(each?.status?.certificate),
    );
    const certificate = new X509Certificate(text(signed.status?.certificate));
    expect(certificate.subject.split("\n").sort()).toEqual(["CN=joe", "O=people"]);
    const lasts = Date.parse(certificate.validTo) - Date.parse(certificate.validFrom);
    expect(lasts).toBe(65 * 60_000);
  });

  it("a request that does not fit its signer fails and says why", async () => {
    await client.kind(CertificateSigningRequest).create({
      metadata: { name: "node" },
      spec: {
        request: Buffer.from(request("/O=people/CN=joe")).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        usages: ["digital signature", "client auth"],
      },
    });
    const asked = await client.kind(CertificateSigningRequest).get({ name: "node" });
    const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "" }];
    await client
      .kind(CertificateSigningRequest)
      .subresource("approval")
      .update({ ...asked, status: { conditions } });
    const failed = await until(client, CertificateSigningRequest, { name: "node" }, (each) =>
      Boolean(each?.status?.conditions?.some(({ type }) => type === "Failed")),
    );
    expect(failed.status?.conditions?.find(({ type }) => type === "Failed")).toMatchObject({
      reason: "SignerValidationFailure",
      message: "subject organization is not system:nodes",
    });
  });

  it("endpoints kept by hand are shown as slices, until the service finds its own", async () => {
    const ref = { name: "outside", namespace };
    await client.kind(Service).create({ metadata: ref, spec: { ports: [{ port: 80 }] } });
    await client.kind(Endpoints).create({
      metadata: ref,
      subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 8080 }] }],
    });
    const [mirrored] = await untilSlices((slices) => slices.length === 1);
    expect(mirrored).toMatchObject({
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.1"], conditions: { ready: true } }],
      ports: [{ port: 8080, protocol: "TCP" }],
      metadata: {
        labels: { "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io" },
      },
    });
    await client.kind(Endpoints).delete(ref);
    await untilSlices((slices) => slices.length === 0);
  });

  type Slice = ObjectOf<typeof EndpointSlice>;

  /** Follows the slices of the service until they are as expected. */
  async function untilSlices(accept: (slices: Slice[]) => boolean): Promise<Slice[]> {
    const slices = new Map<string, Slice>();
    const labels = "kubernetes.io/service-name=outside";
    const events = client
      .kind(EndpointSlice)
      .reflect({ namespace, labels, signal: AbortSignal.timeout(20_000) });
    let isComplete = false;
    for await (const event of events) {
      isComplete ||= event.type === "synced";
      if (event.type === "deleted") slices.delete(event.object.metadata.name);
      else if ("object" in event) slices.set(event.object.metadata.name, event.object);
      if (isComplete && accept([...slices.values()])) return [...slices.values()];
    }
    throw new Error(`the slices never became as expected; they are ${JSON.stringify([...slices.values()])}`);
  }

  it("an aggregated role has the rules of the roles it selects, from when they come until they go", async () => {
    const part = (name: string, resource: string) => ({
      metadata: { name, labels: { part: "yes" } },
      rules: [{ apiGroups: [""], resources: [resource], verbs: ["get"] }],
    });
    const selector = { matchLabels: { part: "yes" } };
    const roles = client.kind(ClusterRole);
    await roles.create(part("part-b", "pods"));
    await roles.create({
      metadata: { name: "whole" },
      aggregationRule: { clusterRoleSelectors: [selector] },
    });
    const having = (...resources: string[]) =>
      until(client, ClusterRole, { name: "whole" }, (role) => {
        const found = (role?.rules ?? []).flatMap((rule) => rule.resources ?? []);
        return found.join() === resources.join();
      });
    await having("pods");
    await roles.create(part("part-a", "secrets"));
    await having("secrets", "pods");
    await roles.delete({ name: "part-b" });
    const role = await having("secrets");
    expect(
      role?.metadata.managedFields?.map(({ manager, operation }) => [manager, operation]),
    ).toContainEqual(["clusterrole-aggregation-controller", "Apply"]);
  });
});
