/** Which of a user's settings PostgreSQL gets, and why the others do not count. Pure. */
import { isReserved } from "../agent/configuration.ts";
import type { Spec } from "../api/database.ts";

type Wanted = Pick<Spec, "parameters" | "durability">;

/** What lets a commit wait for others. */
const waits = /^(on|true|yes|1|remote_apply)$/i;

/** Settings that would break what the operator or the spec itself promises, each with the reason. */
export function unsettable({ parameters, durability }: Wanted): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(parameters).flatMap(([name, value]): (readonly [string, string])[] => {
      if (isReserved(name)) return [[name, "it is set by the agents"]];
      const isWeak =
        name.toLowerCase() === "synchronous_commit" && durability !== "async" && !waits.test(value);
      return isWeak ? [[name, `with durability ${durability} it is on or remote_apply`]] : [];
    }),
  );
}

export function settable(spec: Wanted): Spec["parameters"] {
  const left = unsettable(spec);
  return Object.fromEntries(Object.entries(spec.parameters).filter(([name]) => !left.has(name)));
}
