// Types of secrets, and what their data must have.
import { dryRun, ns, test } from "../_lib.mjs";

export default [
  test("Secret create: data that each type requires", (t) => {
    for (const [type, data] of [
      ["kubernetes.io/tls", {}],
      ["kubernetes.io/tls", { "tls.crt": "", "tls.key": "" }],
      ["kubernetes.io/dockerconfigjson", {}],
      ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": "eA==" }],
      ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": "e30=" }],
      ["kubernetes.io/basic-auth", {}],
      ["kubernetes.io/basic-auth", { username: "eA==" }],
      ["kubernetes.io/ssh-auth", {}],
      ["kubernetes.io/service-account-token", {}],
      ["bootstrap.kubernetes.io/token", {}],
      ["Opaque", { "bad key": "eA==" }],
      ["", { a: "eA==" }],
    ])
      t.post(
        `${ns}/secrets`,
        { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, type, data },
        dryRun,
      );
  }),
];
