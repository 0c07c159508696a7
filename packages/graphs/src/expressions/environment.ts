/** What the expressions of a definition may name. */
import {
  bindingsLibrary,
  Environment,
  encodersLibrary,
  listsLibrary,
  optionalLibrary,
  standardLibrary,
  stringsLibrary,
  twoVariableLibrary,
} from "@keelson/cel";
import {
  kubernetesLists,
  netLibrary,
  quantityLibrary,
  regexLibrary,
  semverLibrary,
  urlLibrary,
} from "@keelson/cel/internal";
import { graphLibrary } from "./library.ts";

/** The functions of kro, without variables. */
export const graphEnvironment = new Environment({
  libraries: [
    standardLibrary,
    twoVariableLibrary,
    listsLibrary,
    stringsLibrary,
    bindingsLibrary,
    optionalLibrary,
    encodersLibrary,
    kubernetesLists,
    urlLibrary,
    regexLibrary,
    quantityLibrary,
    netLibrary,
    semverLibrary,
    graphLibrary,
  ],
  freePresenceTests: true,
});
