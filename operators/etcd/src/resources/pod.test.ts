import { expect, test } from "vitest";
import { podFor } from "./pod.ts";

function probesOf(version: string, secure = false) {
  const recipe = { version, image: "etcd" };
  const cluster = {
    namespace: "default",
    name: "example",
    uid: "1",
    ...(secure && { secure: { client: true } }),
  };
  const template = { hash: "h", recipe };
  const pod = podFor({
    cluster: cluster as never,
    member: "example-0",
    template: template as never,
    start: { mode: "again" },
    role: "voter",
  });
  const [etcd] = pod.spec?.containers ?? [];
  if (!etcd?.livenessProbe || !etcd.readinessProbe) throw new Error("no probes");
  return { liveness: etcd.livenessProbe, readiness: etcd.readinessProbe };
}

test.each(["3.4.29", "3.5.11", "3.6.16", "3.7.3"])(
  "etcd %s is not killed while it cannot read, as during a defragmentation",
  (version) => {
    expect(probesOf(version).liveness.httpGet?.path).toBe("/livez?exclude=serializable_read");
  },
);

test("an alarm, which every member reports, makes none of them unready", () => {
  expect(probesOf("3.6.16").readiness.httpGet?.path).toBe("/readyz?exclude=data_corruption");
  expect(probesOf("3.4.23").readiness.httpGet?.path).toBe("/health?exclude=NOSPACE&exclude=CORRUPT");
});

test("before etcd has health endpoints, liveness asks for what needs neither data nor a leader", () => {
  expect(probesOf("3.4.23").liveness.httpGet).toEqual({ path: "/metrics", port: 2381 });
  expect(probesOf("3.4.23", true).liveness.httpGet).toEqual({ path: "/metrics", port: 2381 });
});

test("a hung process is gone early enough for a second restart, which Kubernetes delays by 10 s, within 30 s", () => {
  const {
    periodSeconds = 10,
    timeoutSeconds = 1,
    failureThreshold = 3,
    ...rest
  } = probesOf("3.6.16").liveness;
  const worst =
    periodSeconds + failureThreshold * timeoutSeconds + (rest.terminationGracePeriodSeconds ?? 30);
  expect(worst + 10).toBeLessThanOrEqual(25);
});
