/** Names that a definition may give: to its kind, its resources and the variables of its loops. */
import type { DefinitionResource, DefinitionSchema, DefinitionSpec } from "../api/definition.ts";
import type { Problems } from "../errors.ts";
import type { Path } from "../path.ts";

const reserved: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return var " +
    "void while apiVersion context dependency dependencies each externalRef externalReference externalRefs " +
    "externalReferences graph instance item items kind kro metadata object resource resourcegraphdefinition " +
    "resourceGraphDefinition resources root runtime schema self serviceAccountName spec status this variables vars " +
    "version"
  ).split(" "),
);

/** As many lists may one resource go through at once. */
const maxDimensions = 10;

export function checkNames({ schema, resources = [] }: DefinitionSpec, problems: Problems): void {
  checkSchema(schema, problems);
  const seen = new Set<string>();
  for (const [index, resource] of resources.entries()) {
    const path: Path = ["spec", "resources", index];
    checkName(resource.id, [...path, "id"], problems);
    if (seen.has(resource.id)) {
      problems.report([...path, "id"], `two resources have the id ${resource.id}`);
    }
    seen.add(resource.id);
    checkForm(resource, path, problems);
  }
  for (const [index, resource] of resources.entries()) {
    checkLoops(resource, seen, ["spec", "resources", index, "forEach"], problems);
  }
}

function checkSchema({ kind, apiVersion }: DefinitionSchema, problems: Problems): void {
  if (!/^[A-Z][a-zA-Z0-9]{0,62}$/.test(kind)) {
    problems.report(
      ["spec", "schema", "kind"],
      `${JSON.stringify(kind)} is no kind: it must be in UpperCamelCase`,
    );
  }
  if (!/^v\d+((alpha|beta)\d+)?$/.test(apiVersion)) {
    const path = ["spec", "schema", "apiVersion"];
    problems.report(path, `${JSON.stringify(apiVersion)} is no version: it must be like v1 or v1alpha1`);
  }
}

function checkName(name: string, path: Path, problems: Problems): void {
  if (reserved.has(name)) problems.report(path, `${name} is a reserved word and cannot be a name`);
  else if (!/^[a-z][a-zA-Z0-9]*$/.test(name)) {
    problems.report(path, `${JSON.stringify(name)} must be in lowerCamelCase, because expressions name it`);
  }
}

function checkForm(
  { template, externalRef, forEach = [] }: DefinitionResource,
  path: Path,
  problems: Problems,
): void {
  if ((template === undefined) === (externalRef === undefined)) {
    problems.report(path, "a resource has either a template or an externalRef");
  }
  if (externalRef !== undefined && forEach.length > 0) {
    problems.report([...path, "forEach"], "an externalRef reads what is there and cannot be repeated");
  }
}

function checkLoops(
  { forEach = [] }: DefinitionResource,
  ids: ReadonlySet<string>,
  path: Path,
  problems: Problems,
): void {
  if (forEach.length > maxDimensions) {
    problems.report(path, `a resource goes through ${maxDimensions} lists at most, not ${forEach.length}`);
  }
  const seen = new Set<string>();
  for (const [index, dimension] of forEach.entries()) {
    for (const name of Object.keys(dimension)) {
      const at = [...path, index, name];
      checkName(name, at, problems);
      if (ids.has(name)) problems.report(at, `${name} is the id of a resource already`);
      if (seen.has(name)) problems.report(at, `${name} goes through two lists`);
      seen.add(name);
    }
  }
}
