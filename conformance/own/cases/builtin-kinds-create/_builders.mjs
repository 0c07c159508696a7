// Builders that the cases of this folder share.
import { dryRun, test } from "../_lib.mjs";

export const createEach = (name, path, list) =>
  test(
    name,
    (t) => {
      for (const o of list) t.post(path, o, dryRun);
    },
    { account: true },
  );

export const jobWith = (spec, tm = {}) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "j" },
  spec: {
    template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }], ...tm } },
    ...spec,
  },
});
