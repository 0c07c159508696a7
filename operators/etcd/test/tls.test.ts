/** Certificates that a user gives, issuers that a user gives, and what cannot be changed. */
import { Secret } from "keelson/kinds";
import { createAuthority, createLeaf, type KeyPair } from "keelson/pki";
import { expect, it } from "vitest";
import { condition, reasonOf } from "./simulation/oracle.ts";
import { ref, World } from "./simulation/world.ts";

const version = "3.6.16";
const hourMs = 3_600_000;
const base64 = (text: string) => Buffer.from(text).toString("base64");

function authority(world: World, name: string): KeyPair {
  const nowMs = world.cluster.clock.now();
  return createAuthority(name, nowMs - hourMs, nowMs + 20_000 * hourMs);
}

async function put(world: World, name: string, data: Record<string, string>): Promise<void> {
  const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)]));
  await world.cluster.client
    .kind(Secret)
    .apply({ metadata: { ...ref, name }, data: encoded }, { force: true, fieldManager: "person" });
}

it("a cluster uses one certificate of the user for all members, and reports when it is missing", {
  timeout: 120_000,
}, async () => {
  await using world = await World.start();
  const given = authority(world, "given");
  const nowMs = world.cluster.clock.now();
  const leaf = createLeaf(given, {
    subject: { commonName: "everyone" },
    names: ["*.example.default.svc"],
    usages: ["server", "client"],
    notBeforeMs: nowMs - hourMs,
    notAfterMs: nowMs + 100 * hourMs,
  });
  const use = { mode: "Secret", secretName: "mine" };
  await world.create({ size: 3, version, tls: { peer: use, client: use } } as never);
  await world.cluster.until(async () => reasonOf((await world.get()).status, "Degraded") === "SecretMissing");
  const { status } = await world.get();
  expect(status?.conditions?.find(({ type }) => type === "Ready")?.message).toContain("Secret mine");
  await put(world, "mine", { "ca.crt": given.certificate, "tls.crt": leaf.certificate, "tls.key": leaf.key });
  await world.settles(3);
  expect((await world.get()).status?.tls?.["peer"]).toMatchObject({ phase: "Given" });
  const { items } = await world.cluster.client.kind(Secret).list(ref);
  expect(items.map(({ metadata }) => metadata.name)).toEqual(["mine"]);
});

it("a cluster uses an authority of the user, and adopts another without losing a member", {
  timeout: 240_000,
}, async () => {
  await using world = await World.start();
  const [first, second] = [authority(world, "first"), authority(world, "second")];
  await put(world, "issuer", { "tls.crt": first.certificate, "tls.key": first.key });
  const use = { issuerSecret: "issuer", overlapHours: 0 };
  await world.create({ size: 3, version, tls: { peer: use, client: use } } as never);
  await world.settles(3);
  const bundle = async () => {
    const secret = await world.cluster.client.kind(Secret).get({ ...ref, name: "example-client-tls" });
    return Buffer.from(secret.data?.["ca.crt"] ?? "", "base64").toString();
  };
  expect(await bundle()).toBe(first.certificate);
  await put(world, "issuer", { "tls.crt": second.certificate, "tls.key": second.key });
  world.load();
  for (let seconds = 0; seconds < 900 && (await bundle()) !== second.certificate; seconds += 20) {
    await world.cluster.advance(20_000);
    expect(condition((await world.get()).status, "Available")).toBe("True");
  }
  expect(await bundle()).toBe(second.certificate);
  await world.settles(3);
  world.rest();
  world.verify();
});

it("the API server refuses to switch TLS on or off, or passwords off, on a running cluster", async () => {
  await using world = await World.start();
  await world.create({ size: 1, version, auth: { rootSecret: "root" } } as never);
  await expect(world.change({ tls: { peer: {} } })).rejects.toThrow("take a backup and restore it");
  await expect(world.change({ auth: null })).rejects.toThrow("cannot be switched off");
});
