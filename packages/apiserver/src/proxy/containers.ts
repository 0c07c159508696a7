/** Which container of a pod a request means. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest } from "../contracts/status-error.ts";

const defaultContainer = "kubectl.kubernetes.io/default-container";

function names(pod: ApiObject, field: string): string[] {
  const list = ((pod.spec as JsonObject | undefined)?.[field] as { name: string }[] | undefined) ?? [];
  return list.map(({ name }) => name);
}

/** The one asked for, or the only one, or the one that the pod's annotation names. Throws 400. */
export function containerOf(pod: ApiObject, asked: string | null): string {
  const { name } = pod.metadata;
  const main = names(pod, "containers");
  const init = names(pod, "initContainers");
  const all = [...main, ...init, ...names(pod, "ephemeralContainers")];
  if (asked) {
    if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
    return asked;
  }
  if (main.length === 1) return main[0] as string;
  const annotated = pod.metadata.annotations?.[defaultContainer];
  if (annotated && all.includes(annotated)) return annotated;
  if (main.length === 0) throw badRequest(`a container name must be specified for pod ${name}`);
  const also = init.length > 0 ? ` or one of the init containers: [${init.join(" ")}]` : "";
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${main.join(" ")}]${also}`,
  );
}
