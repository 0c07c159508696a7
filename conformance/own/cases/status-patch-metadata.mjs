// Status writes of four kinds, and which metadata they change.
import { silent, test } from "./_lib.mjs";

export default [
  test("Status merge patch: labels and finalizers sent with the status of four kinds", (t) =>
    t
      .post(
        "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
        {
          apiVersion: "flowcontrol.apiserver.k8s.io/v1",
          kind: "PriorityLevelConfiguration",
          metadata: { name: "p-$ID" },
          spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
        },
        silent,
      )
      .merge("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/p-$ID/status", {
        metadata: { labels: { a: "b" }, finalizers: ["a.b/c"] },
        status: { conditions: [{ type: "X", status: "True" }] },
      })
      .post(
        "/apis/storage.k8s.io/v1/volumeattachments",
        {
          apiVersion: "storage.k8s.io/v1",
          kind: "VolumeAttachment",
          metadata: { name: "p-$ID" },
          spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "v" } },
        },
        silent,
      )
      .merge("/apis/storage.k8s.io/v1/volumeattachments/p-$ID/status", {
        metadata: { labels: { a: "b" } },
        status: { attached: true },
      })
      .post(
        "/apis/resource.k8s.io/v1/namespaces/$NS/resourceclaims",
        { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "p" }, spec: {} },
        silent,
      )
      .merge("/apis/resource.k8s.io/v1/namespaces/$NS/resourceclaims/p/status", {
        metadata: { labels: { a: "b" } },
      })
      .post(
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingAdmissionPolicy",
          metadata: { name: "p-$ID" },
          spec: {
            validations: [{ expression: "true" }],
            matchConstraints: {
              resourceRules: [
                { apiGroups: ["zz"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["zz"] },
              ],
            },
          },
        },
        silent,
      )
      .merge("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p-$ID/status", {
        metadata: { labels: { a: "b" } },
        status: { observedGeneration: 1 },
      })),
];
