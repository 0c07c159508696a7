/** The admission plug-ins, in the order in which they run. */
import { namespaceLifecycle } from "../builtin/namespace-lifecycle.ts";
import type { HookFactory } from "../hooks.ts";

export const admission: HookFactory = ({ store }) => ({ admission: [namespaceLifecycle(store)] });
