// Builders that the cases of this folder share.
import { dryRun, test } from "../_lib.mjs";

export const createEach = (name, path, objects) =>
  test(
    name,
    (t) => {
      for (const o of objects) t.post(path, o, dryRun);
    },
    { account: true },
  );
