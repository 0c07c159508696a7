/** What plugs into every server unless its user says otherwise. */
import { admission } from "./admission/index.ts";
import { authentication } from "./authentication/index.ts";
import { authorization } from "./authorization/index.ts";
import type { HookFactory } from "./hooks.ts";
import { printers } from "./printers/index.ts";
import { builtinKinds } from "./validation/index.ts";

export const defaultPlugins: readonly HookFactory[] = [
  authentication,
  admission,
  authorization,
  builtinKinds,
  printers,
];
