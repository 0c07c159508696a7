/** `cel.bind(name, value, body)`. Not part of the Kubernetes environment. */

import type { Library } from "../check/functions.ts";
import type { Expr } from "../syntax/ast.ts";

/** `cel.bind`. */
export const bindingsLibrary: Library = {
  name: "bindings",
  macros: [
    {
      fn: "bind",
      argCount: 3,
      receiver: true,
      expand(build, target, args) {
        if (target.kind !== "ident" || target.name !== "cel") return undefined;
        const [variable, init, result] = args as [Expr, Expr, Expr];
        if (variable.kind !== "ident") {
          return build.fail(variable, "cel.bind() variable names must be simple identifiers");
        }
        return build.comprehension({
          range: build.list(),
          iterVar: "#unused",
          iterVar2: undefined,
          accuVar: variable.name,
          accuInit: init,
          condition: build.literal(false),
          step: build.ident(variable.name),
          result,
        });
      },
    },
  ],
};
