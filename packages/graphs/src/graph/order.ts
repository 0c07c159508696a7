/** The order in which resources are made, and the waves in which they go. */
import { invalid } from "../errors.ts";
import type { Path } from "../path.ts";

/** A resource and those that must be there before it. */
export interface Vertex {
  readonly id: string;
  /** Its place in the definition: what is free keeps this order. */
  readonly index: number;
  readonly dependencies: readonly string[];
}

/** @throws GraphError that names the circle. */
export function topologicalOrder<V extends Vertex>(vertices: readonly V[]): V[] {
  const left = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const order: V[] = [];
  while (left.size > 0) {
    const free = [...left.values()].filter(({ dependencies }) => dependencies.every((id) => !left.has(id)));
    const [next] = free.sort((a, b) => a.index - b.index);
    if (!next) throw circle(left);
    order.push(next);
    left.delete(next.id);
  }
  return order;
}

function circle(left: ReadonlyMap<string, Vertex>): Error {
  const [start] = left.values();
  const walked: string[] = [];
  let at = start as Vertex;
  while (!walked.includes(at.id)) {
    walked.push(at.id);
    const next = at.dependencies.find((id) => left.has(id)) as string;
    at = left.get(next) as Vertex;
  }
  const ids = [...walked.slice(walked.indexOf(at.id)), at.id];
  const path: Path = ["spec", "resources", at.index];
  return invalid(
    path,
    ids.length === 2
      ? `${at.id} refers to itself`
      : `resources refer to each other in a circle: ${ids.join(" → ")}`,
  );
}

/** The wave of each resource: the highest goes first. Those of one wave do not need each other. */
export function deletionWaves(order: readonly Vertex[]): ReadonlyMap<string, number> {
  /** How many must go before it, one after the other. */
  const behind = new Map<string, number>();
  for (const { id, dependencies } of [...order].reverse()) {
    const own = behind.get(id) ?? 0;
    behind.set(id, own);
    for (const dependency of dependencies) {
      behind.set(dependency, Math.max(behind.get(dependency) ?? 0, own + 1));
    }
  }
  const waves = 1 + Math.max(0, ...behind.values());
  return new Map([...behind].map(([id, count]) => [id, waves - count]));
}
