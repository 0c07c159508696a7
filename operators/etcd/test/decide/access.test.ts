import { authentication, lockedOut, secretMissing } from "../../src/decide/access.ts";
import { cluster, down, three, voter } from "./observed.ts";
import { decisions } from "./table.ts";

const auth = { rootSecret: "root" };
const problem = "the Secret mine of spec.tls.peer needs ca.crt, tls.crt and tls.key";

decisions("a Secret that is missing", secretMissing, [
  ["no Secret is missing", three(), undefined],
  ["a Secret is missing", three({ secretProblem: problem }), `wait SecretMissing: ${problem}`],
]);

decisions("a password that etcd refuses", lockedOut, [
  ["etcd was not asked", three({ spec: { auth } }), undefined],
  ["etcd accepts it", three({ spec: { auth }, authentication: "in" }), undefined],
  [
    "etcd refuses the password of the spec",
    three({ spec: { auth }, authentication: "out" }),
    "wait LockedOut: etcd does not know the password in the Secret root; put the one it knows there as previousPassword, and the operator changes it",
  ],
  [
    "etcd asks for a password, and the spec has none",
    three({ authentication: "out" }),
    "wait LockedOut: etcd asks for a password; name a Secret with that of its user root in spec.auth.rootSecret",
  ],
]);

decisions("authentication", authentication, [
  ["the spec does not ask for it", three({ authentication: "off" }), undefined],
  ["there is no quorum", three({ spec: { auth }, authentication: "off", quorum: false }), undefined],
  ["no member serves", cluster([voter(0, down)], { spec: { auth }, authentication: "off" }), undefined],
  [
    "it is off",
    three({ spec: { auth }, authentication: "off" }),
    "enableAuthentication Securing: etcd asks for passwords from now on",
    { via: "example-0" },
  ],
  [
    "the previous password is still in use",
    three({ spec: { auth }, authentication: "previous" }),
    "changePassword Securing: root gets its new password",
    { via: "example-0" },
  ],
  ["it is on", three({ spec: { auth }, authentication: "in" }), undefined],
]);
