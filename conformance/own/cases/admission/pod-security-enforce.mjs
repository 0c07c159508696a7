// Pod security standards of a namespace.
import { apps, batch, deployment, dryRun, ns, silent, test } from "../_lib.mjs";
import { podWith } from "./_builders.mjs";

const labelled = (l) => ({ metadata: { labels: l } });

export default [
  test(
    "Pod create: the levels baseline and restricted of pod security",
    (t) => {
      for (const level of ["baseline", "restricted"]) {
        t.merge(
          "/api/v1/namespaces/$NS",
          labelled({ "pod-security.kubernetes.io/enforce": level }),
          silent,
        ).wait(400);
        for (const [c, s] of [
          [{}, {}],
          [{ securityContext: { privileged: true } }, {}],
          [{}, { hostNetwork: true, hostPID: true }],
          [{ ports: [{ containerPort: 80, hostPort: 80 }] }, {}],
          [{}, { volumes: [{ name: "h", hostPath: { path: "/a" } }] }],
          [{ securityContext: { capabilities: { add: ["NET_ADMIN"] } } }, {}],
          [
            {
              securityContext: {
                allowPrivilegeEscalation: false,
                runAsNonRoot: true,
                capabilities: { drop: ["ALL"] },
                seccompProfile: { type: "RuntimeDefault" },
              },
            },
            {},
          ],
          [
            {},
            {
              securityContext: {
                sysctls: [
                  { name: "kernel.shm_rmid_forced", value: "1" },
                  { name: "x.y", value: "1" },
                ],
                seLinuxOptions: { user: "x" },
              },
            },
          ],
          [{ securityContext: { runAsUser: 0 } }, { securityContext: { runAsNonRoot: true } }],
          [{ securityContext: { procMount: "Unmasked" } }, { hostUsers: false }],
        ])
          t.post(`${ns}/pods`, podWith("x", c, s), dryRun);
      }
    },
    { account: true },
  ),
  test(
    "Pod create: pod security warnings, pod templates and invalid labels",
    (t) =>
      t
        .merge(
          "/api/v1/namespaces/$NS",
          labelled({
            "pod-security.kubernetes.io/warn": "restricted",
            "pod-security.kubernetes.io/enforce": "baseline",
          }),
          silent,
        )
        .wait(400)
        .post(`${ns}/pods`, podWith("a"), dryRun)
        .post(`${apps}/deployments`, deployment("d"), dryRun)
        .post(
          `${apps}/deployments`,
          deployment("d", {
            template: {
              metadata: { labels: { app: "d" } },
              spec: { hostNetwork: true, containers: [{ name: "a", image: "b" }] },
            },
          }),
          dryRun,
        )
        .post(
          `${batch}/cronjobs`,
          {
            apiVersion: "batch/v1",
            kind: "CronJob",
            metadata: { name: "c" },
            spec: {
              schedule: "* * * * *",
              jobTemplate: {
                spec: {
                  template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b" }] } },
                },
              },
            },
          },
          dryRun,
        )
        .merge("/api/v1/namespaces/$NS", labelled({ "pod-security.kubernetes.io/enforce": "bogus" }))
        .merge("/api/v1/namespaces/$NS", labelled({ "pod-security.kubernetes.io/enforce-version": "v9" }))
        .merge(
          "/api/v1/namespaces/$NS",
          labelled({
            "pod-security.kubernetes.io/enforce": "restricted",
            "pod-security.kubernetes.io/enforce-version": "v1.24",
          }),
        )
        .post(`${ns}/pods`, podWith("b"), dryRun),
    { account: true },
  ),
  test(
    "Namespace update: a stricter pod security level warns of pods that violate it",
    (t) =>
      t
        .post(`${ns}/pods`, podWith("a"), silent)
        .post(`${ns}/pods`, podWith("b", { securityContext: { privileged: true } }), silent)
        .wait(300)
        .merge("/api/v1/namespaces/$NS", labelled({ "pod-security.kubernetes.io/enforce": "restricted" }))
        .merge(
          "/api/v1/namespaces/$NS",
          labelled({ "pod-security.kubernetes.io/enforce": "baseline" }),
          dryRun,
        ),
    { account: true },
  ),
];
