import { expect, test } from "vitest";
import { hostsFile } from "./pod-files.ts";

const pod = (spec: object) => ({
  metadata: { name: "p", namespace: "n" },
  spec: { containers: [], ...spec },
});

test("a pod's hosts file names the pod", () => {
  const text = hostsFile(pod({}), "10.244.0.2", "cluster.local", "");
  expect(text).toContain("# Kubernetes-managed hosts file.\n");
  expect(text).toContain("10.244.0.2\tp\n");
});

test("a pod on the node's network has the node's names, and its own aliases", () => {
  const hostAliases = [{ ip: "1.2.3.4", hostnames: ["a", "b"] }];
  expect(
    hostsFile(pod({ hostNetwork: true, hostAliases }), "10.244.0.1", "cluster.local", "127.0.0.1 machine\n"),
  ).toBe(
    "# Kubernetes-managed hosts file (host network).\n127.0.0.1 machine\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n",
  );
});
