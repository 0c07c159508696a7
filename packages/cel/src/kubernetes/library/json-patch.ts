/** Keys for the paths of a JSON patch. Only mutating admission policies have this. */

import { type Library, overload } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { types } from "../../values/types.ts";
import { parseCost } from "./costs.ts";

const { string } = types;

export const jsonPatchLibrary: Library = {
  name: "kubernetes.jsonpatch",
  functions: [
    {
      name: "jsonpatch.escapeKey",
      cost: parseCost,
      overloads: [
        overload("string_jsonpatch_escapeKey_string", [string], string, ([key]) =>
          typeof key === "string" ? key.replaceAll("~", "~0").replaceAll("/", "~1") : noSuchOverload,
        ),
      ],
    },
  ],
};
