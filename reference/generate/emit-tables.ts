// Writes the API server's tables: definitions and resources.
import type { BootstrapFacts } from "./bootstrap.ts";
import { definitionPackages, packageOf } from "./definitions.ts";
import type { Observation } from "./observe.ts";
import type { ListFacts } from "./observe-resources.ts";
import { banner, literal, type Output } from "./output.ts";
import { everyGroupVersion, groupVersionFacts, type ResourceFacts } from "./resources.ts";

const directory = "packages/apiserver/src/tables/generated";
const ordinaryVerbs = "create delete deletecollection get list patch update watch";

export function tableOutputs(
  observation: Observation,
  lists: readonly ListFacts[],
  bootstrap: BootstrapFacts,
): Output[] {
  return [
    definitionsFile(observation),
    resourcesFile(observation),
    listsFile(lists),
    bootstrapFile(bootstrap),
  ];
}

function listsFile(lists: readonly ListFacts[]): Output {
  const lines = lists.map(({ key, columns, selectors, selectorRefusal }) => {
    const short = columns.map(({ name, type, format, priority }) =>
      priority > 0 ? [name, type, format, priority] : format ? [name, type, format] : [name, type],
    );
    const facts = {
      columns: short,
      ...(selectors.join() === "metadata.name,metadata.namespace" ? {} : { selectors }),
      refusal: selectorRefusal,
    };
    return `  ${literal(key)}: ${literal(facts)},\n`;
  });
  const text = [
    banner("How each resource is listed: columns of its table, fields it can be selected by."),
    `import type { ListFacts } from "../facts.ts";\n\n`,
    `export const lists: Readonly<Record<string, ListFacts>> = {\n${lines.join("")}};\n`,
  ];
  return { path: `${directory}/lists.ts`, text: text.join("") };
}

function bootstrapFile({ roles, bindings, objects }: BootstrapFacts): Output {
  const list = (name: string, type: string, items: readonly object[]) =>
    `export const ${name}: readonly ${type}[] = [\n${items.map((item) => `  ${literal(item)},\n`).join("")}];\n`;
  const text = [
    banner("Objects that a fresh API server makes by itself."),
    `import type { JsonObject } from "@keelson/core";\n`,
    `import type { BindingFacts, RoleFacts } from "../facts.ts";\n\n`,
    list("roles", "RoleFacts", roles),
    list("bindings", "BindingFacts", bindings),
    list("objects", "JsonObject", objects),
  ];
  return { path: `${directory}/bootstrap.ts`, text: text.join("") };
}

function definitionsFile(observation: Observation): Output {
  const packages = definitionPackages(observation.definitions).map(
    ({ name, alias, groupVersion, text }) =>
      `  {\n    name: ${literal(name)},\n    alias: ${literal(alias)},\n    groupVersion: ${literal(groupVersion ?? "")},\n    text: String.raw\`${text}\`,\n  },\n`,
  );
  const text = [
    banner("Definitions of the kinds served by default, in the notation of ../notation.ts."),
    `import type { DefinitionPackageFacts } from "../facts.ts";\n\n`,
    `export const definitionPackages: readonly DefinitionPackageFacts[] = [\n${packages.join("")}];\n\n`,
    "/** Group-versions that have DeleteOptions and WatchEvent, served or not. */\n",
    `export const sharedGroupVersions: readonly string[] = ${literal(everyGroupVersion(observation))};\n`,
  ];
  return { path: `${directory}/definitions.ts`, text: text.join("") };
}

function resourcesFile(observation: Observation): Output {
  const entries = groupVersionFacts(observation).map(
    ({ group, version, groupPriority, versionPriority, resources }) => {
      const head = {
        group,
        version,
        package: kindPackage(observation, group, version, resources[0]),
        ...(groupPriority === undefined ? {} : { groupPriority, versionPriority }),
      };
      const lines = resources.map((facts) => `      ${literal(shortened(facts))},\n`).join("");
      const keys = Object.entries(head).map(([key, value]) => `    ${key}: ${literal(value)},\n`);
      return `  {\n${keys.join("")}    resources: [\n${lines}    ],\n  },\n`;
    },
  );
  const text = [
    banner("Group-versions served by default, in the order of discovery, and their resources."),
    `import type { GroupVersionFacts } from "../facts.ts";\n\n`,
    `export const servedGroupVersions: readonly GroupVersionFacts[] = [\n${entries.join("")}];\n`,
  ];
  return { path: `${directory}/resources.ts`, text: text.join("") };
}

/** Leaves out what the reader can fill in. */
function shortened({ verbs, subresources, ...facts }: ResourceFacts): object {
  return {
    ...facts,
    ...(verbs.join(" ") === ordinaryVerbs ? {} : { verbs }),
    ...(subresources === undefined
      ? {}
      : {
          subresources: subresources.map(({ kind, ...rest }) => ({
            ...rest,
            ...(kind === facts.kind ? {} : { kind }),
          })),
        }),
  };
}

function kindPackage(
  observation: Observation,
  group: string,
  version: string,
  sample: ResourceFacts | undefined,
): string {
  for (const [name, schema] of observation.definitions) {
    const kinds = schema["x-kubernetes-group-version-kind"];
    if (!Array.isArray(kinds) || kinds.length !== 1) continue;
    const text = JSON.stringify(kinds[0], ["group", "version", "kind"]);
    if (text === JSON.stringify({ group, version, kind: sample?.kind }, ["group", "version", "kind"]))
      return packageOf(name);
  }
  throw new Error(`no package defines the kinds of ${group}/${version}`);
}
