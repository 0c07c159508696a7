// Objects and calls that several of these scenarios need and the given ones do not have.

export const v2 = { image: "example/app:2" };

export const configMap = (name, owners = [], extra = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ownerReferences: owners, ...extra },
});

export const claim = (name, spec = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});

// Snapshots do not show everything: what they leave out is written into an annotation, which they show.
export const note = (s, name, value) =>
  s.create(configMap(`note-${name}`, [], { annotations: { value: JSON.stringify(value) } }));

export const noteScheduling = async (s, name) => {
  const all = await s.pods();
  const said = all
    .flatMap((p) => p.status.conditions?.filter((c) => c.type === "PodScheduled") ?? [])
    .map((c) => `${c.status} ${c.reason ?? ""} ${c.message ?? ""}`);
  await note(s, name, said.sort());
};

export const requests = (cpu, more = {}) => ({
  containers: [{ name: "main", image: "example/app:1", resources: { requests: { cpu }, ...more } }],
});
