/** What plugs into every server unless its user says otherwise. */
import { admission } from "../admission/index.ts";
import { authentication } from "../authentication/index.ts";
import { authorization } from "../authorization/index.ts";
import type { PluginFactory } from "../contracts/plugin.ts";
import { printers } from "../printers/index.ts";
import { builtinKinds } from "../validation/index.ts";

export const defaultPlugins: readonly PluginFactory[] = [
  authentication,
  admission,
  authorization,
  builtinKinds,
  printers,
];
