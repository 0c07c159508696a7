/** What a pod asks for in all: the sum of its containers, the peak of its start, its overhead. */
import { Quantity } from "@keelson/core";
import type { Container, PodSpec } from "@keelson/core/kinds";

/** Quantities by the name of their resource. */
export type Amounts = Map<string, Quantity>;
type ResourceList = Readonly<Record<string, string | number>> | undefined;

/** The quantities of a resource list. */
export function amountsOf(list: ResourceList): Amounts {
  const out: Amounts = new Map();
  for (const key in list) out.set(key, Quantity.from(list[key] as string | number));
  return out;
}

/** Adds quantities to a sum, in place. */
export function addAmounts(target: Amounts, added: Amounts): void {
  for (const [name, amount] of added) {
    const known = target.get(name);
    target.set(name, known ? known.add(amount) : amount);
  }
}

function raiseTo(target: Amounts, floor: Amounts): void {
  for (const [name, amount] of floor) {
    const known = target.get(name);
    if (!known || amount.compare(known) > 0) target.set(name, amount);
  }
}

export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/** Containers together, or the largest moment of initialization if that is more. */
export function containerAmounts(spec: PodSpec, which: "requests" | "limits"): Amounts {
  const total: Amounts = new Map();
  for (const container of spec.containers ?? []) addAmounts(total, amountsOf(container.resources?.[which]));
  const sidecars: Amounts = new Map();
  const peak: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container.resources?.[which]);
    if (isSidecar(container)) {
      addAmounts(total, own);
      addAmounts(sidecars, own);
      raiseTo(peak, sidecars);
    } else {
      addAmounts(own, sidecars);
      raiseTo(peak, own);
    }
  }
  raiseTo(total, peak);
  return total;
}

/** Whether a resource can be asked for by the pod as a whole. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/** What counts against a node or a quota. */
export function podAmounts(spec: PodSpec, which: "requests" | "limits"): Amounts {
  const total = containerAmounts(spec, which);
  const own = spec.resources?.[which];
  for (const name in own)
    if (isPodLevelResource(name)) total.set(name, Quantity.from(own[name] as string | number));
  for (const [name, amount] of amountsOf(spec.overhead)) {
    const known = total.get(name);
    // Overhead raises limits only where there are limits.
    if (which === "requests") total.set(name, known ? known.add(amount) : amount);
    else if (known && !known.isZero()) total.set(name, known.add(amount));
  }
  return total;
}
