/** From a Pod to what decisions care about. */
import type { ObjectOf } from "keelson";
import type { Pod } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { InstanceView } from "./observed.ts";

/** Reasons for which a container waits that time alone does not repair. */
const obstacles = new Set([
  ...[
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
  ],
  ...["CreateContainerError", "RunContainerError", "CrashLoopBackOff"],
]);

export function podView({ metadata, status, spec }: ObjectOf<typeof Pod>): NonNullable<InstanceView["pod"]> {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const obstacle = obstacleOf(status);
  return {
    uid: metadata.uid,
    ready: ready?.status === "True",
    deleting: metadata.deletionTimestamp !== undefined,
    template: metadata.annotations?.[annotations.template] ?? "",
    image: spec?.containers.find(({ name }) => name === "postgres")?.image ?? "",
    labels: metadata.labels ?? {},
    ...(obstacle !== undefined && { obstacle }),
    ...(spec?.nodeName !== undefined && { nodeName: spec.nodeName }),
  };
}

function obstacleOf(status: ObjectOf<typeof Pod>["status"]): string | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False")
    return `${scheduled.reason ?? "Unschedulable"}: ${scheduled.message ?? ""}`;
  for (const container of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason, message } = container.state?.waiting ?? {};
    if (reason !== undefined && obstacles.has(reason))
      return [container.name, reason, message].filter(Boolean).join(": ");
  }
  return undefined;
}
