/** What plugs into every server unless its user says otherwise. */
import { admission } from "./admission/index.ts";
import { authentication } from "./authentication/index.ts";
import { authorization } from "./authorization/index.ts";
import { defaulterOf } from "./defaulting/index.ts";
import type { HookFactory } from "./hooks.ts";

const kinds: HookFactory = () => ({
  strategies: (group, resource) => {
    const defaulter = defaulterOf(group, resource);
    return defaulter && { default: defaulter };
  },
});

export const defaultPlugins: readonly HookFactory[] = [authentication, admission, authorization, kinds];
