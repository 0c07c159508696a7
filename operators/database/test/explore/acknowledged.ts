/** What clients were told, by key. */
import type { World } from "@keelson/testing";
import type { SimPostgres } from "./application.ts";

type Known = Map<string, string>;

export function acknowledgedIn(world: World<SimPostgres>): Known {
  const known = world.notes.get("acknowledged") as Known | undefined;
  if (known) return known;
  const made: Known = new Map();
  world.notes.set("acknowledged", made);
  return made;
}

/** A later write that was not acknowledged may be there too, and is no loss of the one before. */
export function settled(
  data: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, string>,
): Map<string, string> {
  const wanted = (key: string, value: string) => {
    const told = known.get(key);
    return told !== undefined && Number(value) >= Number(told) ? told : value;
  };
  return new Map([...data].map(([key, value]) => [key, wanted(key, value)]));
}
