/** Ways to find the objects that a controller may claim, and the controllers that a change concerns. */
import {
  type AnyKind,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
  objectKey,
  type Stored,
} from "@keelson/core";
import type { CacheReader, Change } from "@keelson/runtime/internal";
import { controllerOfObject } from "./owner-reference.ts";

/** Indexes for a watch: by the UID of the controller, and by namespace what has none. */
export const ownerIndexes = {
  owner: (object: Pick<Stored, "metadata">): readonly string[] => {
    const reference = controllerOfObject(object);
    return reference ? [reference.uid] : [];
  },
  orphans: (object: Pick<Stored, "metadata">): readonly string[] =>
    controllerOfObject(object) ? [] : [object.metadata.namespace ?? ""],
};

/** What the owner controls or may adopt. */
export function candidatesFor<T>(cache: CacheReader<T>, owner: Pick<Stored, "metadata">): T[] {
  return [
    ...cache.byIndex("owner", owner.metadata.uid),
    ...cache.byIndex("orphans", owner.metadata.namespace ?? ""),
  ];
}

type Selecting = Stored & { readonly spec: { readonly selector?: LabelSelectorObject } };

/**
 * Maps a change to the controller it has, had, or, as an orphan, may get: those named `owners` among the caches, whose
 * selector matches.
 */
export function ownersOf(
  kind: AnyKind,
  owners: string,
  selectorOf: (owner: never) => LabelSelectorObject | undefined = (owner: Selecting) => owner.spec.selector,
): (change: Change<Stored>, caches: Readonly<Record<string, CacheReader<never>>>) => Iterable<string> {
  return ({ object, previous }, caches) => {
    const keys = new Set<string>();
    for (const each of [object, previous]) {
      if (!each) continue;
      const reference = controllerOfObject(each);
      if (reference) {
        if (reference.kind === kind.kind && reference.apiVersion.startsWith(kind.group)) {
          keys.add(objectKey({ metadata: { namespace: each.metadata.namespace, name: reference.name } }));
        }
        continue;
      }
      for (const owner of caches[owners]?.list(each.metadata.namespace) ?? []) {
        const selector = labelSelectorFrom(selectorOf(owner));
        if (selector.requirements.length > 0 && matchesLabels(selector, each.metadata.labels)) {
          keys.add(objectKey(owner));
        }
      }
    }
    return keys;
  };
}
