/** The environment of Kubernetes 1.36, without variables. */
import { Environment } from "../check/environment.ts";
import { twoVariableLibrary } from "../library/comprehensions.ts";
import { listsLibrary } from "../library/lists.ts";
import { optionalLibrary } from "../library/optionals.ts";
import { setsLibrary } from "../library/sets.ts";
import { standardLibrary } from "../library/standard.ts";
import { kubernetesStrings } from "../library/strings.ts";
import { authorizerLibrary } from "./library/authorizer.ts";
import { formatLibrary } from "./library/formats.ts";
import { kubernetesLists } from "./library/lists.ts";
import { netLibrary } from "./library/net.ts";
import { quantityLibrary } from "./library/quantities.ts";
import { regexLibrary } from "./library/regex.ts";
import { semverLibrary } from "./library/semver.ts";
import { urlLibrary } from "./library/urls.ts";

/**
 * Extend it with the variables of a use: `self` for a CRD's rules, `object` for admission.
 *
 * There is no `cel.bind`, no `math` and no string `reverse` in it: Kubernetes does not have them.
 */
export const kubernetesEnvironment = new Environment({
  libraries: [
    standardLibrary,
    urlLibrary,
    regexLibrary,
    kubernetesLists,
    authorizerLibrary,
    optionalLibrary,
    quantityLibrary,
    kubernetesStrings,
    setsLibrary,
    netLibrary,
    formatLibrary,
    twoVariableLibrary,
    semverLibrary,
    listsLibrary,
  ],
  homogeneousLiterals: true,
  checkedLiterals: true,
  freePresenceTests: true,
});
