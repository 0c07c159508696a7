/** Runs the definitions that are in the cluster: a kind and its controller come, change and go with each. */
import { canonicalJson, type JsonObject } from "@keelson/core";
import { CustomResourceDefinition } from "@keelson/core/kinds";
import type { CallOptions } from "@keelson/hooks";
import { allow, type Controller, controller, done, waiting } from "@keelson/runtime";
import { PlanDefinition, type PlanDefinitionObject } from "../api/definition.ts";
import { controllerOf } from "./plan-controllers.ts";

/**
 * A controller that runs every PlanDefinition of the cluster. What the definitions need is not part of its role: who
 * installs a definition installs the role for it. The kind of a definition stays when the definition goes, because its
 * objects would go with it.
 */
export function planHost(options: CallOptions = {}): Controller {
  const running = new Map<string, string>();
  return controller(PlanDefinition, {
    name: "plandefinition",
    writes: [allow(CustomResourceDefinition, ["get", "list", "watch", "create", "patch"])],
    reconcile: async (definition, ctx) => {
      const spec = canonicalJson(definition.spec as unknown as JsonObject);
      const made = await controllerOf(definition as PlanDefinitionObject, ctx.server.discover, options);
      const { name } = made.controller;
      if (ctx.controllers.get(name) !== undefined && running.get(name) === spec) return done();
      const crd = made.kind.crd();
      const crds = ctx.client.kind(CustomResourceDefinition);
      const applied = await crds.apply(crd as never, { force: true });
      const { conditions } =
        (applied as { status?: { conditions?: { type: string; status: string }[] } }).status ?? {};
      if (!conditions?.some(({ type, status }) => type === "Established" && status === "True")) {
        return waiting("KindNotEstablished", `the kind ${definition.spec.resource.kind} is not served yet`, {
          recheckMs: 500,
        });
      }
      await ctx.controllers.start(made.controller);
      running.set(name, spec);
      return done({ message: `runs the plans of ${definition.spec.resource.kind}` });
    },
    finalize: async (definition, ctx) => {
      const name = `plans-${definition.metadata.name}`.slice(0, 63);
      await ctx.controllers.stop(name);
      running.delete(name);
      return done();
    },
  });
}
