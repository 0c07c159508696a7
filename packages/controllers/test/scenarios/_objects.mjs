// Objects and calls that several of these scenarios need and the given ones do not.
export const v2 = { image: "example/app:2" };

export const quota = (name, spec) => ({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec });

export const pdb = (name, spec) => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name },
  spec,
});

export const evict = (s, name, body = {}) =>
  s.call("POST", `${s.pathOf("Pod", s.ns, name)}/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name },
    ...body,
  });
