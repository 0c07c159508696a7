import { expect, test } from "vitest";
import { templateHash } from "./template-hash.ts";
import { revisionHash, templatePatch } from "./template-patch.ts";

// Names that kube-controller-manager 1.36.4 gave to replica sets and revisions of these templates.
const plain = {
  metadata: { labels: { app: "d0" } },
  spec: {
    containers: [
      {
        name: "main",
        image: "example/app:1",
        ports: [{ name: "web", containerPort: 8080, protocol: "TCP" as const }],
        resources: {},
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File" as const,
        imagePullPolicy: "IfNotPresent" as const,
      },
    ],
    restartPolicy: "Always" as const,
    terminationGracePeriodSeconds: 0,
    dnsPolicy: "ClusterFirst" as const,
    securityContext: {},
    schedulerName: "default-scheduler",
  },
};

test("a template has the hash that it has on any cluster", () => {
  expect(templateHash(plain, undefined)).toBe("56ff947948");
  expect(revisionHash(templatePatch(plain), 0)).toBe("84f487bfd");
});

test("a collision gives the same template another hash", () => {
  expect(templateHash(plain, 1)).not.toBe(templateHash(plain, undefined));
  expect(templateHash(plain, 1)).toBe(templateHash(structuredClone(plain), 1));
});

test("quantities are hashed by their value and form, wherever they come from", () => {
  const withCpu = (cpu: string) => ({
    spec: { containers: [{ name: "a", resources: { requests: { cpu } } }] },
  });
  expect(templateHash(withCpu("0.5"), undefined)).toBe(templateHash(withCpu("500m"), undefined));
  expect(templateHash(withCpu("1"), undefined)).not.toBe(templateHash(withCpu("2"), undefined));
});

test("an empty list is none", () => {
  const a = { spec: { containers: [{ name: "a", args: [] }] } };
  const b = { spec: { containers: [{ name: "a" }] } };
  expect(templateHash(a, undefined)).toBe(templateHash(b, undefined));
});
