// Builders that the cases of this folder share.
import { silent, test } from "../_lib.mjs";

export const selector = { matchLabels: { a: "b" } };

const specAndGeneration = { pick: (b) => (b.kind === "Status" ? b : [b.spec ?? b, b.metadata.generation]) };

export const merges = (name, path, object, patches, options = { account: true }) =>
  test(
    name,
    (t) => {
      t.post(path, object, silent);
      for (const p of patches) t.merge(`${path}/${object.metadata.name}`, p, specAndGeneration);
      if (object.metadata.name !== "x")
        t.cleanup({ method: "DELETE", path: `${path}/${object.metadata.name}` });
    },
    options,
  );

export const spec = (s) => ({ spec: s });
