/** States in which the operator once waited for ever. */
import { Pod } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import { condition, healed, named, scenario, spec } from "./explore/scenario.ts";
import { type EtcdWorld, missing } from "./explore/subject.ts";

const timeout = 60_000;
const isReached = condition((world) => expect(missing(world)).toBeUndefined());
const deletePod = (name: string) => async (world: EtcdWorld) => {
  await world.client.kind(Pod).delete(named(name));
};

describe("the image of the old version is gone", { timeout }, () => {
  const imageGone = ({ simulation }: EtcdWorld) => {
    simulation.kubelet.missingImages.add("gcr.io/etcd-development/etcd:v3.6.16");
  };

  test("a member that restarts takes the patch that the spec asks for", async () => {
    await scenario(
      "three members",
      [
        [0, imageGone],
        [0, deletePod("example-1")],
        [60_000, spec({ version: "3.6.17" })],
        [240_000, isReached],
      ],
      healed,
    );
  });

  test("the only member takes the patch that the spec asks for", async () => {
    await scenario(
      "one member",
      [
        [0, imageGone],
        [0, deletePod("example-0")],
        [60_000, spec({ version: "3.6.17" })],
        [180_000, isReached],
      ],
      healed,
    );
  });
});
