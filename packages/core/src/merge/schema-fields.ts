/** Sets of fields read together with a schema. */
import type { FieldSet } from "./field-set.ts";
import { elementContent, type PathElement } from "./path.ts";
import { type Atom, isOpenMap, type TypeRef, typeOfField } from "./schema.ts";

function typeBelow(atom: Atom | undefined, element: PathElement): TypeRef | undefined {
  const content = elementContent(element);
  if (content.kind === "field")
    return atom?.map === undefined ? undefined : typeOfField(atom.map, content.name);
  return content.kind === "key" ? atom?.list?.element : undefined;
}

/**
 * The set with every named field that leads to a member made a member itself. Keys of maps and items of
 * lists are left as they are: those are owned on their own.
 */
export function withNamedFields(set: FieldSet, type: TypeRef | undefined): FieldSet {
  const atom = type?.atom;
  return set.mapNodes((element, member, below) => {
    if (below === undefined) return { member, below };
    const named = element.startsWith("f:") && atom?.map?.fields.has(element.slice(2)) === true;
    return { member: member || named, below: withNamedFields(below, typeBelow(atom, element)) };
  });
}

const reconciled = new WeakMap<TypeRef, WeakMap<FieldSet, FieldSet>>();

/**
 * The set as it reads after its schema changed: what was granular when it was recorded and is atomic now
 * is owned whole. The other direction needs nothing, since an owned parent stays a member.
 */
export function reconcileWithSchema(set: FieldSet, type: TypeRef): FieldSet {
  let known = reconciled.get(type);
  if (known === undefined) {
    known = new WeakMap();
    reconciled.set(type, known);
  }
  let result = known.get(set);
  if (result === undefined) {
    result = reconcileBelow(set, type.atom);
    known.set(set, result);
    known.set(result, result);
  }
  return result;
}

function reconcileBelow(set: FieldSet, atom: Atom): FieldSet {
  if (atom.map === undefined && (atom.scalar !== undefined || atom.list === undefined)) return set;
  return set.mapNodes((element, member, below) => {
    const map = atom.map;
    const type =
      map === undefined
        ? atom.list?.element
        : element.startsWith("f:")
          ? typeOfField(map, element.slice(2))
          : map.element;
    return type === undefined ? { member, below } : reconcileNode(member, below, type.atom);
  });
}

function reconcileNode(
  member: boolean,
  below: FieldSet | undefined,
  atom: Atom,
): { member: boolean; below: FieldSet | undefined } {
  const whole = member && below === undefined;
  if (atom.map !== undefined) {
    if (isOpenMap(atom.map)) return { member, below };
    if (!whole && atom.map.atomic) {
      return below === undefined || below.isEmpty ? { member, below } : { member: true, below: undefined };
    }
  } else if (atom.scalar !== undefined) {
    return { member, below };
  } else if (atom.list !== undefined && !whole && atom.list.atomic) {
    return { member: true, below: undefined };
  }
  return { member, below: below === undefined ? undefined : reconcileBelow(below, atom) };
}
