/** All mistakes of a file in one text, each of them asleep: a call of `isAwake` decides which one is made. */
import { applyMutant, type Mutant } from "./mutants.ts";

/** The name under which the text calls `(id: number) => boolean`; `id` is the mistake's place in the list, from `firstId` on. */
export const isAwake = "__mutantIsAwake";

interface Place {
  readonly start: number;
  readonly end: number;
  readonly isStatement: boolean;
  /** The ids of the mistakes made here, with what is there instead. */
  readonly mistakes: { readonly id: number; readonly instead: string }[];
}

export function together(source: string, mutants: readonly Mutant[], firstId: number): string {
  const places = placesOf(source, mutants, firstId);
  let next = 0;
  const render = (start: number, end: number): string => {
    let [text, at] = ["", start];
    for (let place = places[next]; place && place.start < end; place = places[next]) {
      next++;
      text += source.slice(at, place.start) + choice(place, render(place.start, place.end));
      at = place.end;
    }
    return text + source.slice(at, end);
  };
  return render(0, source.length);
}

/** From the outside to the inside, in the order of the text. */
function placesOf(source: string, mutants: readonly Mutant[], firstId: number): readonly Place[] {
  const places = new Map<string, Place>();
  for (const [index, mutant] of mutants.entries()) {
    const { start, end, is } = mutant.within;
    const isStatement = is !== "expression";
    const key = `${start}-${end}-${isStatement}`;
    const place = places.get(key) ?? { start, end, isStatement, mistakes: [] };
    places.set(key, place);
    const after = applyMutant(source, mutant).length - source.length + end;
    place.mistakes.push({ id: firstId + index, instead: applyMutant(source, mutant).slice(start, after) });
  }
  return [...places.values()].sort(
    (a, b) => a.start - b.start || b.end - a.end || Number(b.isStatement) - Number(a.isStatement),
  );
}

function choice({ isStatement, mistakes }: Place, inner: string): string {
  if (!isStatement) {
    const instead = mistakes.map(({ id, instead }) => `${isAwake}(${id}) ? (${instead}) : `);
    return `(${instead.join("")}(${inner}))`;
  }
  const [first] = mistakes;
  return `{ if (${isAwake}(${first?.id})) { ${first?.instead} } else { ${inner} } }`;
}
