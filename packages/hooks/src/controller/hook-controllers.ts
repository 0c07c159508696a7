/** Definitions in, controllers out: for definitions that come from files. */
import type { Client } from "@keelson/client";
import { type JsonObject, type KubeObject, parseApiVersion } from "@keelson/core";
import type { RawController } from "@keelson/runtime";
import { CompositeController, DecoratorController, type HookDefinition } from "../api/resources.ts";
import { HookError } from "../errors.ts";
import { compositeController } from "./composite.ts";
import { decoratorControllers } from "./decorator.ts";
import type { Discover, HookOptions } from "./hooked-controller.ts";

/** Whether an object is a CompositeController or a DecoratorController. */
export function isHookDefinition(object: KubeObject): boolean {
  const { group } = parseApiVersion(object.apiVersion ?? "");
  return (
    group === CompositeController.group &&
    [CompositeController.kind, DecoratorController.kind].includes(object.kind as never)
  );
}

/**
 * The controllers of some definitions, to be given to an operator. Their kinds are looked up at the server; a definition
 * that cannot work is an error that says why. The role that follows from them is exactly what they need, but for kinds
 * that a customize hook asks for: name those in the annotation `hooks.keelson.dev/related`.
 */
export async function hookControllers(
  definitions: readonly KubeObject[],
  client: Pick<Client, "discover">,
  options: HookOptions = {},
): Promise<RawController[]> {
  const discover: Discover = (apiVersion, resource) => client.discover(apiVersion, resource);
  const made: RawController[] = [];
  for (const object of definitions) made.push(...(await controllersOf(parsed(object), discover, options)));
  return made;
}

/** Fills in defaults, and refuses what the CustomResourceDefinition would. */
function parsed(object: KubeObject): HookDefinition {
  const isComposite = object.kind === CompositeController.kind;
  if (!isHookDefinition(object)) {
    throw new HookError(
      "InvalidDefinition",
      `${object.kind} of ${object.apiVersion} is neither a CompositeController nor a DecoratorController`,
    );
  }
  const kind = isComposite ? CompositeController : DecoratorController;
  try {
    return { ...object, ...(kind.parse(object) as object) } as HookDefinition;
  } catch (cause) {
    const { message } = cause as Error;
    throw new HookError("InvalidDefinition", `${object.kind} ${object.metadata?.name}: ${message}`, {
      cause,
    });
  }
}

/** The controllers of one definition as the server returned it. */
export async function controllersOf(
  definition: HookDefinition,
  discover: Discover,
  options: HookOptions,
): Promise<RawController[]> {
  const name = definition.metadata?.name;
  if (!name) throw new HookError("InvalidDefinition", "a definition needs a metadata.name");
  const complete = { ...definition, metadata: definition.metadata } as unknown as JsonObject;
  return definition.kind === CompositeController.kind
    ? [await compositeController(complete as never, discover, options)]
    : await decoratorControllers(complete as never, discover, options);
}
