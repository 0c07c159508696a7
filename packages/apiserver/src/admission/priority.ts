/** Priority: pods get the number that their class stands for. */
import type { Pod, PodSpec, PriorityClass } from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { StoreReader } from "../contracts/store.ts";
import { isFor, refused } from "./refusals.ts";

const classes = { group: "scheduling.k8s.io", resource: "priorityclasses" };

const systemClasses = new Set(["system-node-critical", "system-cluster-critical"]);

export function priority(store: StoreReader): AdmissionPlugin {
  const all = () => store.list(classes) as unknown as readonly PriorityClass[];
  const lowestDefault = (): PriorityClass | undefined => {
    let found: PriorityClass | undefined;
    for (const candidate of all())
      if (candidate.globalDefault && (!found || (found.value ?? 0) > (candidate.value ?? 0)))
        found = candidate;
    return found;
  };
  return {
    name: "Priority",
    admit(request) {
      if (!isFor(request, "", "pods") || !request.object) return;
      const spec = (request.object as unknown as Pod).spec as PodSpec;
      if (request.operation === "CREATE") settle(request, spec, classOf(request, spec));
      else if (request.operation === "UPDATE") {
        const old = (request.oldObject as unknown as Pod).spec as PodSpec;
        if (spec.priority === undefined && old.priority !== undefined) spec.priority = old.priority;
        if (spec.preemptionPolicy === undefined && old.preemptionPolicy !== undefined)
          spec.preemptionPolicy = old.preemptionPolicy;
      }
    },
    validate(request) {
      if (!isFor(request, classes.group, classes.resource)) return;
      if (request.operation === "DELETE" && systemClasses.has(request.name ?? ""))
        throw refused(request, "this is a system priority class and cannot be deleted");
      const object = request.object as unknown as PriorityClass | undefined;
      if (!object?.globalDefault) return;
      const other = lowestDefault();
      if (!other || (request.operation === "UPDATE" && other.metadata?.name === object.metadata?.name))
        return;
      throw refused(
        request,
        `PriorityClass ${other.metadata?.name} is already marked as default. Only one default can exist`,
      );
    },
  };

  function classOf(request: AdmissionRequest, spec: PodSpec): PriorityClass {
    const name = spec.priorityClassName;
    if (!name) return lowestDefault() ?? { value: 0, preemptionPolicy: "PreemptLowerPriority" };
    const found = store.get(classes, "", name) as unknown as PriorityClass | undefined;
    if (!found) throw refused(request, `no PriorityClass with name ${name} was found`);
    return found;
  }
}

function settle(request: AdmissionRequest, spec: PodSpec, found: PriorityClass): void {
  if (!spec.priorityClassName && found.metadata?.name) spec.priorityClassName = found.metadata.name;
  const value = found.value ?? 0;
  if (spec.priority !== undefined && spec.priority !== value)
    throw refused(
      request,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  spec.priority = value;
  const policy = found.preemptionPolicy;
  if (policy === undefined) return;
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy)
    throw refused(
      request,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  spec.preemptionPolicy = policy;
}
