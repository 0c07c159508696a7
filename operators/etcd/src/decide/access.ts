/** Certificates and passwords: without them the operator sees no member, and touches nothing. */
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import type { Decision } from "./decision.ts";
import { contactFor } from "./leaving.ts";

export function secretMissing(o: Observed): Decision | undefined {
  if (o.secretProblem === undefined) return undefined;
  return { do: "wait", reason: reasons.secretMissing, message: o.secretProblem, recheckMs: 5_000 };
}

export function lockedOut(o: Observed): Decision | undefined {
  if (o.authentication !== "out") return undefined;
  const { auth } = o.spec;
  const message = auth
    ? `etcd does not know the password in the Secret ${auth.rootSecret}; put the one it knows there as previousPassword, and the operator changes it`
    : "etcd asks for a password; name a Secret with that of its user root in spec.auth.rootSecret";
  return { do: "wait", reason: reasons.lockedOut, message, recheckMs: 5_000 };
}

/** As early as a member answers: what is written before could be read by anyone. */
export function authentication(o: Observed): Decision | undefined {
  if (!o.spec.auth || !o.list) return undefined;
  const via = contactFor(o);
  if (via === undefined) return undefined;
  const reason = reasons.securing;
  if (o.authentication === "off")
    return { do: "enableAuthentication", via, reason, message: "etcd asks for passwords from now on" };
  if (o.authentication === "previous")
    return { do: "changePassword", via, reason, message: "root gets its new password" };
  return undefined;
}
