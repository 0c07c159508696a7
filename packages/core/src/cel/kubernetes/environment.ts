/** The environment of Kubernetes 1.36, without variables. */
import { Environment } from "../environment.ts";
import { twoVariableLibrary } from "../library/comprehensions.ts";
import { listsLibrary } from "../library/lists.ts";
import { optionalLibrary } from "../library/optionals.ts";
import { setsLibrary } from "../library/sets.ts";
import { standardLibrary } from "../library/standard.ts";
import { kubernetesStrings } from "../library/strings.ts";

/** Extend it with the variables of a use: `self` for a CRD's rules, `object` for admission. */
export const kubernetesEnvironment = new Environment({
  libraries: [
    standardLibrary,
    optionalLibrary,
    kubernetesStrings,
    setsLibrary,
    twoVariableLibrary,
    listsLibrary,
  ],
  homogeneousLiterals: true,
  checkedLiterals: true,
  freePresenceTests: true,
});
