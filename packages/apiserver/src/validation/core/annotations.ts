/** Annotations of pods that mean something. */
import { type ObjectMeta, parseJson, validateQualifiedName } from "@keelson/core";
import type { PodSpec, Toleration } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { allContainers } from "./all-containers.ts";
import { checkDescending } from "./paths.ts";
import { checkTolerations } from "./scheduling.ts";

export const mirrorAnnotation = "kubernetes.io/config.mirror";
const tolerationsAnnotation = "scheduler.alpha.kubernetes.io/tolerations";
const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
export const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
export const seccompContainer = "container.seccomp.security.alpha.kubernetes.io/";
export const appArmorContainer = "container.apparmor.security.beta.kubernetes.io/";

type Annotations = Readonly<Record<string, string>>;

export function checkQualifiedName(path: string, name: string, errors: Errors): void {
  errors.messages(path, name, validateQualifiedName(name));
}

export function checkPodAnnotations(
  path: string,
  annotations: Annotations | undefined,
  spec: PodSpec,
  errors: Errors,
  allowCost = false,
): void {
  if (!annotations) return;
  const mirror = annotations[mirrorAnnotation];
  if (mirror !== undefined && !spec.nodeName)
    errors.invalid(
      `${path}[${mirrorAnnotation}]`,
      mirror,
      "must set spec.nodeName if mirror pod annotation is set",
    );
  if (annotations[tolerationsAnnotation])
    checkTolerationsAnnotation(path, annotations[tolerationsAnnotation], errors);
  const cost = annotations[deletionCost];
  if (cost !== undefined && !allowCost && !isDeletionCost(cost))
    errors.invalid(`${path}[${deletionCost}]`, cost, "must be a 32bit integer");
  const podProfile = annotations[seccompPod];
  if (podProfile !== undefined) checkSeccompName(`${path}.${seccompPod}`, podProfile, errors);
  for (const key in annotations)
    if (key.startsWith(seccompContainer))
      checkSeccompName(`${path}.${key}`, annotations[key] as string, errors);
  for (const key in annotations) {
    if (!key.startsWith(appArmorContainer)) continue;
    const name = key.slice(appArmorContainer.length);
    const profile = annotations[key] as string;
    if (!allContainers(spec).some((container) => container.name === name))
      errors.invalid(`${path}[${key}]`, name, "container not found");
    if (
      profile &&
      profile !== "runtime/default" &&
      profile !== "unconfined" &&
      !profile.startsWith("localhost/")
    )
      errors.invalid(`${path}[${key}]`, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`);
  }
}

export function isDeletionCost(text: string): boolean {
  if (!/^(-\d+|0|[1-9]\d*)$/.test(text)) return false;
  const value = Number(text);
  return value >= -(2 ** 31) && value < 2 ** 31;
}

function checkTolerationsAnnotation(path: string, text: string, errors: Errors): void {
  let tolerations: unknown;
  try {
    tolerations = parseJson(text);
  } catch (error) {
    errors.invalid(path, tolerationsAnnotation, error instanceof Error ? error.message : String(error));
    return;
  }
  if (Array.isArray(tolerations))
    checkTolerations(`${path}.${tolerationsAnnotation}`, tolerations as Toleration[], errors);
}

function checkSeccompName(path: string, profile: string, errors: Errors): void {
  if (profile === "runtime/default" || profile === "docker/default" || profile === "unconfined") return;
  if (profile.startsWith("localhost/")) checkDescending(path, profile.slice("localhost/".length), errors);
  else errors.invalid(path, profile, "must be a valid seccomp profile");
}

/** Annotations that a pod keeps for life. */
export function checkAnnotationChanges(
  path: string,
  { annotations = {} }: ObjectMeta,
  { annotations: old = {} }: ObjectMeta,
  errors: Errors,
): void {
  const fixed = (key: string) =>
    key.startsWith(appArmorContainer)
      ? "AppArmor annotations"
      : key === mirrorAnnotation
        ? "mirror pod annotation"
        : "";
  for (const key in old) {
    if (annotations[key] === old[key]) continue;
    const what = fixed(key);
    if (what) errors.forbidden(`${path}[${key}]`, `may not remove or update ${what}`);
  }
  for (const key in annotations) {
    if (key in old) continue;
    const what = fixed(key);
    if (what) errors.forbidden(`${path}[${key}]`, `may not add ${what}`);
  }
}
