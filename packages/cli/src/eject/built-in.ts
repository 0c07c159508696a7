/** Kinds as TypeScript knows them. */
import type { AnyKind } from "@keelson/core";
import * as builtIn from "@keelson/core/kinds";

/** Whether keelson/kinds has it, with its type. */
export function isBuiltIn(kind: AnyKind): boolean {
  const found = (builtIn as unknown as Record<string, AnyKind | undefined>)[kind.kind];
  return found !== undefined && kindKey(found) === kindKey(kind);
}

/** One kind, one key. */
export function kindKey({ group, version, kind }: AnyKind): string {
  return `${group}/${version}/${kind}`;
}
