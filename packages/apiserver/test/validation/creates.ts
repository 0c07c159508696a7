/** Plays the creation of every object and of its variations, as a trial. */
import { objects } from "./objects.ts";
import { outcome } from "./plain.ts";
import type { Player } from "./players.ts";
import { signingRequest } from "./signing-request.ts";
import { variations } from "./variations.ts";

/** By object, then by variation: the status and what is wrong, or for the object itself what it became. */
export type Creates = Record<string, Record<string, readonly [number, unknown?]>>;

export async function playCreates(player: Player): Promise<Creates> {
  const core = { apiVersion: "v1" };
  await player.send("POST", "/api/v1/namespaces", {
    ...core,
    kind: "Namespace",
    metadata: { name: "shapes" },
  });
  await player.send("POST", "/api/v1/namespaces/shapes/serviceaccounts", {
    ...core,
    kind: "ServiceAccount",
    metadata: { name: "default" },
  });
  await player.settle();
  const played: Creates = {};
  for (const [path, template] of objects) {
    const object = JSON.parse(JSON.stringify(template).replace('"CSR"', JSON.stringify(signingRequest)));
    const answers: Record<string, readonly [number, unknown?]> = {};
    const trial = `${path}?dryRun=All`;
    answers[""] = outcome(await player.send("POST", trial, object));
    for (const { label, object: variation } of variations(object)) {
      const [code, said] = outcome(await player.send("POST", trial, variation));
      if (code > 0) answers[label] = code >= 400 ? [code, said] : [code];
    }
    played[`${object.kind} ${object.metadata?.name}`] = answers;
  }
  return played;
}
