/** base64. Not part of the Kubernetes environment. */

import { type Library, overload } from "../check/functions.ts";
import { noSuchOverload } from "../values/compare.ts";
import { types } from "../values/types.ts";
import { fault } from "../values/values.ts";

const { bytes, string } = types;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** `base64.encode` and `base64.decode`. */
export const encodersLibrary: Library = {
  name: "encoders",
  functions: [
    {
      name: "base64.encode",
      overloads: [
        overload("base64_encode_bytes", [bytes], string, ([value]) =>
          value instanceof Uint8Array ? Buffer.from(value).toString("base64") : noSuchOverload,
        ),
      ],
    },
    {
      name: "base64.decode",
      overloads: [
        overload("base64_decode_string", [string], bytes, ([value]) => {
          if (typeof value !== "string") return noSuchOverload;
          if (!base64.test(value)) return fault("illegal base64 data");
          return Uint8Array.from(Buffer.from(value, "base64"));
        }),
      ],
    },
  ],
};
