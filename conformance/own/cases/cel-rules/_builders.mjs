// Builders that the cases of this folder share.
import { crd, objectSchema } from "../_lib.mjs";

export const specSchema = (properties, over) => objectSchema({ spec: objectSchema(properties, over) });

export const definitionWith = (rules, properties) =>
  crd(specSchema(properties, { "x-kubernetes-validations": rules }));

export const shortString = (n = 20) => ({ type: "string", maxLength: n });
