/** What our own packages need of cel. No promise is made for it: it may change in any release. */
export { type FunctionDecl, type Library, member, overload } from "./check/functions.ts";
export { escapeName, fieldNamed } from "./kubernetes/escaping.ts";
export { kubernetesLists } from "./kubernetes/library/lists.ts";
export { netLibrary } from "./kubernetes/library/net.ts";
export { quantityLibrary } from "./kubernetes/library/quantities.ts";
export { regexLibrary } from "./kubernetes/library/regex.ts";
export { semverLibrary } from "./kubernetes/library/semver.ts";
export {
  parseFormattedBytes,
  parseFormattedDate,
  parseFormattedDateTime,
} from "./kubernetes/library/string-formats.ts";
export { urlLibrary } from "./kubernetes/library/urls.ts";
export { type Expr, type MapEntry, walk } from "./syntax/ast.ts";
export type { Macro } from "./syntax/macro.ts";
export { formatType, isOptionalType, opaqueType, paramType } from "./values/types.ts";
export { fault, Opaque } from "./values/values.ts";
