// Builders that the cases of this folder share.
import { ns, pod, silent } from "../_lib.mjs";

export const podWith = (name, c = {}, spec = {}, meta = {}) =>
  pod(name, { containers: [{ name: "main", image: "a", ...c }], ...spec }, meta);

export const admissionregistration = "/apis/admissionregistration.k8s.io/v1";

export const rules = (r = {}) => ({
  resourceRules: [
    {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["configmaps"],
      ...r,
    },
  ],
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "$NS" } },
});

export const policy = (spec, kind = "ValidatingAdmissionPolicy") => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name: "p-$ID" },
  spec: { failurePolicy: "Fail", matchConstraints: rules(), ...spec },
});

export const binding = (spec, kind = "ValidatingAdmissionPolicyBinding") => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name: "p-$ID" },
  spec: { policyName: "p-$ID", ...(kind.startsWith("V") ? { validationActions: ["Deny"] } : {}), ...spec },
});

// Parameters are found only once their kind is watched, hence the longer wait.
export const installPolicy = (t, p, b, k = "validatingadmissionpolic") =>
  t
    .post(`${admissionregistration}/${k}ies`, p, silent)
    .post(`${admissionregistration}/${k}ybindings`, b, silent)
    .cleanup({ method: "DELETE", path: `${admissionregistration}/${k}ies/p-$ID` })
    .cleanup({ method: "DELETE", path: `${admissionregistration}/${k}ybindings/p-$ID` })
    .wait(p.spec.paramKind ? 4000 : 1300);

export const configMaps = `${ns}/configmaps`;
