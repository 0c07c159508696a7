/** Certificates over years, without a cluster. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { pemBlocks } from "@keelson/pki";
import { describe, expect, test } from "vitest";
import {
  type Certificates,
  certificateProblem,
  isLater,
  planCertificates,
  usualLives,
} from "./certificates.ts";

const day = 86_400_000;
const names = ["ops-webhook.default.svc"];
const start = Date.UTC(2026, 0, 1);

function believes(bundle: string, leaf: string): boolean {
  const certificate = new X509Certificate(leaf);
  return [...pemBlocks(bundle)].some(({ text }) => certificate.verify(new X509Certificate(text).publicKey));
}

describe("certificates", () => {
  test("are believed at every moment of ten years by a server that is told of changes ten minutes late", () => {
    let held: Partial<Certificates> = {};
    let told = "";
    let leaves = 0;
    let authorities = 0;
    for (let now = start; now < start + 3650 * day; ) {
      const plan = planCertificates(held, names, now);
      const before = held;
      held = plan.certificates;
      if (plan.certificates["tls.crt"] !== before["tls.crt"]) leaves++;
      if (plan.certificates["ca.key"] !== before["ca.key"]) authorities++;
      if (told === "") told = plan.certificates["ca.crt"];
      // The server still has the bundle of ten minutes ago.
      expect(believes(told, plan.certificates["tls.crt"])).toBe(true);
      const leaf = new X509Certificate(plan.certificates["tls.crt"]);
      expect(leaf.validToDate.getTime()).toBeGreaterThan(now);
      expect(leaf.checkHost(names[0] as string)).toBeDefined();
      expect(plan.nextAtMs).toBeGreaterThan(now);
      expect([...pemBlocks(plan.certificates["ca.crt"])].length).toBeLessThanOrEqual(3);
      told = plan.certificates["ca.crt"];
      now = plan.nextAtMs;
    }
    expect(leaves).toBeGreaterThan(50);
    expect(authorities).toBeGreaterThan(12);
  });

  test("are made again for other names, for a lost key, and in place of what is no certificate", () => {
    const { certificates } = planCertificates({}, names, start);
    expect(planCertificates(certificates, names, start + day).changed).toBe(false);
    const renamed = planCertificates(certificates, ["other.default.svc"], start + day);
    expect(new X509Certificate(renamed.certificates["tls.crt"]).checkHost("other.default.svc")).toBeDefined();
    expect(renamed.certificates["ca.crt"]).toBe(certificates["ca.crt"]);
    const { "ca.key": _, ...lost } = certificates;
    const again = planCertificates(lost, names, start + day);
    expect(again.certificates["ca.crt"]).toContain(certificates["ca.crt"]);
    expect(again.certificates["tls.crt"]).toBe(certificates["tls.crt"]);
    expect(planCertificates({ ...certificates, "ca.crt": "x", "tls.crt": "y" }, names, start).changed).toBe(
      true,
    );
  });

  test("that another keeps are served as long as they can be", () => {
    const { certificates } = planCertificates({}, names, start);
    expect(certificateProblem(certificates, start + day)).toBeUndefined();
    expect(certificateProblem({}, start)).toBe("it has no tls.crt and tls.key yet");
    expect(certificateProblem(certificates, start + usualLives.leafMs + day)).toBe(
      "its certificate has expired",
    );
  });

  test("stay when the clock is set back by less than a day, and are made again when it is by more", () => {
    const held = planCertificates({}, names, start).certificates;
    expect(planCertificates(held, names, start - 23 * 3_600_000).changed).toBe(false);
    const now = start - 2 * day;
    const { certificates, nextAtMs } = planCertificates(held, names, now);
    for (const each of [certificates["tls.crt"], certificates["ca.crt"]]) {
      expect([...pemBlocks(each)]).toHaveLength(1);
      expect(new X509Certificate(each).validFromDate.getTime()).toBeLessThan(now);
    }
    expect(believes(certificates["ca.crt"], certificates["tls.crt"])).toBe(true);
    expect(planCertificates(certificates, names, now).changed).toBe(false);
    expect(nextAtMs).toBeGreaterThan(now);
    // What was published is replaced, though it is of a later time.
    expect(isLater(held["ca.crt"], certificates["ca.crt"], now)).toBe(false);
    expect(isLater(held["ca.crt"], certificates["ca.crt"], start)).toBe(true);
  });

  test("are made again where someone wrote a key that is not theirs", () => {
    const held = planCertificates({}, names, start).certificates;
    const other = planCertificates({}, names, start).certificates;
    for (const broken of [
      { "tls.key": other["tls.key"] },
      { "tls.key": "no key" },
      { "ca.key": other["ca.key"] as string },
      { "ca.key": "no key" },
    ]) {
      const { certificates, changed } = planCertificates({ ...held, ...broken }, names, start + day);
      expect(changed).toBe(true);
      const leaf = new X509Certificate(certificates["tls.crt"]);
      expect(leaf.checkPrivateKey(createPrivateKey(certificates["tls.key"]))).toBe(true);
      expect(believes(certificates["ca.crt"], certificates["tls.crt"])).toBe(true);
    }
    expect(certificateProblem({ ...held, "tls.key": other["tls.key"] }, start)).toBe(
      "its tls.key is not the key of its tls.crt",
    );
  });
});
