/** Provokes every error of @keelson/controllers, each by the smallest call inside it. */
import { Deployment } from "@keelson/core/kinds";
import type { ControllerErrorCode } from "../../../packages/controllers/src/acting/errors.ts";
import { dueTime } from "../../../packages/controllers/src/cronjob/due-time.ts";
import { totalScale } from "../../../packages/controllers/src/disruption/owner-scale.ts";
import { refuseIfGone } from "../../../packages/controllers/src/ownership/claim.ts";
import type { Provocations } from "../provoked.ts";

const metadata = { namespace: "default", name: "web", uid: "1", creationTimestamp: "2026-01-01T00:00:00Z" };

export const controllers: Provocations<ControllerErrorCode> = {
  OwnerGone: () => {
    const acting = { kind: () => ({ find: async () => undefined }) };
    return refuseIfGone(acting as never, { owner: { metadata } as never, ownerKind: Deployment });
  },
  InvalidObject: () => {
    const never = { next: () => undefined };
    return dueTime({ metadata, spec: {} } as never, never as never, Date.now(), { withinDeadline: false });
  },
  Incomplete: () => {
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "2", controller: true };
    const pod = { metadata: { ...metadata, ownerReferences: [owner] } };
    const none = { get: () => undefined };
    const scale = { get: async () => ({ metadata: { uid: "of another" }, spec: {} }) };
    const client = { discover: async () => Deployment, kind: () => ({ subresource: () => scale }) };
    return totalScale([pod] as never, new Proxy({}, { get: () => none }) as never, client as never);
  },
};
