/** Provokes every error of @keelson/plans. */
import { type PlanErrorCode, planController, planStatus } from "@keelson/plans";
import { resource } from "@keelson/schema";
import { z } from "zod";
import { isTrue } from "../../../packages/plans/src/template/expression.ts";
import type { Provocations } from "../provoked.ts";

const Shop = resource({
  ...{ group: "example.com", version: "v1", kind: "Shop" },
  spec: z.object({}),
  status: z.object(planStatus),
});

export const plans: Provocations<PlanErrorCode> = {
  InvalidDefinition: () => planController(Shop, { plans: {}, kinds: [] }),
  InvalidExpression: () =>
    isTrue("parameters.none", {
      parameters: {},
      previous: {},
      results: {},
      name: "a",
      namespace: "b",
      run: "c",
    }),
};
