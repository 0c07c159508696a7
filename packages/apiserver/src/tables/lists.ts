/** How resources are listed: the columns of their tables and the fields they can be selected by. */
import { lists } from "./generated/lists.ts";

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date" | "number";
  /** `name` marks the object's name. */
  readonly format: string;
  /** 0 is always shown, 1 with `-o wide`. */
  readonly priority: number;
}

interface ListedResource {
  readonly groupVersion: string;
  readonly name: string;
}

const nameAndNamespace: readonly string[] = Object.freeze(["metadata.name", "metadata.namespace"]);
const columns = new Map<string, readonly Column[]>();

/**
 * Columns of the resource's table, in order; empty for what cannot be listed. What the real server says about
 * each column is left out: no client shows it.
 */
export function tableColumns(resource: ListedResource): readonly Column[] {
  const key = keyOf(resource);
  let known = columns.get(key);
  if (known === undefined) {
    known = (lists[key]?.columns ?? []).map(([name, type, format = "", priority = 0]) =>
      Object.freeze({ name, type: type as Column["type"], format, priority }),
    );
    columns.set(key, known);
  }
  return known;
}

/** Labels that a field selector on the resource may use; some are names of their own and no path (`source` of events). */
export function fieldSelectors(resource: ListedResource): readonly string[] {
  return lists[keyOf(resource)]?.selectors ?? nameAndNamespace;
}

/** What the server says to a field selector with another label. */
export function fieldSelectorRefusal(resource: ListedResource, label: string): string {
  const refusal =
    lists[keyOf(resource)]?.refusal ??
    '"?" is not a known field selector: only "metadata.name", "metadata.namespace"';
  return refusal.replace("?", () => label);
}

function keyOf(resource: ListedResource): string {
  return `${resource.groupVersion}/${resource.name}`;
}
