/** The files of an ejected graph: its resource, its controller, and what every graph has in common. */
import type { JsonValue } from "@keelson/core";
import type { Graph } from "@keelson/graphs";
import type { CrdVersion, StructuralSchema } from "@keelson/schema";
import { CliError } from "../errors.ts";
import { type ApiNames, apiNames } from "../scaffold/names.ts";
import type { ScaffoldFile } from "../scaffold/write-files.ts";
import { codeOf, propertyOf } from "./code.ts";
import { NoForm, specOf } from "./graph-nodes.ts";
import { graphSupport } from "./graph-support.ts";
import { controllerSource } from "./graph-writer.ts";
import { NoZodForm, zodSource } from "./zod-source.ts";

/** What became of a definition. */
export interface Ejected {
  readonly api: ApiNames;
  readonly files: readonly ScaffoldFile[];
  /** Packages that the files import beside keelson. */
  readonly packages: readonly string[];
  /** What a person should know, each a sentence. */
  readonly notes: readonly string[];
}

export function graphFiles(graph: Graph): Ejected {
  const { kind, group, version } = graph.kind;
  const api = apiNames({ kind, group, version });
  const what = `ResourceGraphDefinition ${graph.name}`;
  if (graph.conditions.length > 0) {
    throw new CliError(
      "CannotEject",
      `${what} writes conditions of its own (spec.schema.status.conditions), which have no form in a controller: ` +
        "leave them out, and set them with ctx.setCondition afterwards",
    );
  }
  try {
    const source = controllerSource(graph, api);
    const { folder } = api;
    return {
      api,
      files: [
        { path: `src/${folder}/api.ts`, content: resourceSource(graph, api) },
        { path: `src/${folder}/controller.ts`, content: source.code },
        { path: `src/${folder}/graph.ts`, content: graphSupport(source) },
      ],
      packages: source.cel ? ["@keelson/graphs"] : [],
      notes: [
        `${what}: ${source.translated} of ${source.translated + source.kept} expressions are TypeScript` +
          (source.kept === 0 ? "" : `, ${source.kept} are still CEL`),
      ],
    };
  } catch (cause) {
    if (!(cause instanceof NoForm || cause instanceof NoZodForm)) throw cause;
    throw new CliError("CannotEject", `${what} has no form in TypeScript: ${cause.message}`, { cause });
  }
}

function resourceSource(graph: Graph, { kind, group, version }: ApiNames): string {
  const { names, scope, versions } = graph.crd.spec;
  const [served] = versions as [CrdVersion];
  const { conditions: _, ...status } = served.schema.openAPIV3Schema.properties?.["status"]?.properties ?? {};
  const spec = zodSource(withDefault(specOf(graph)));
  const told = zodSource({ type: "object", properties: status });
  const imports = [...new Set([...spec.imports, ...told.imports, "resource", "z"])].sort((a, b) =>
    a.localeCompare(b, "en", { sensitivity: "base" }),
  );
  const optional = (name: string, value: readonly string[] | undefined) =>
    value && value.length > 0 ? `  ${name}: ${codeOf([...value])},\n` : "";
  return `/** ${kind}: what users write, and what the operator reports. The schema is that of the graph. */
import { ${imports.join(", ")} } from "keelson";

export const ${kind} = resource({
  group: ${codeOf(group)},
  kind: ${codeOf(kind)},
  version: ${codeOf(version)},
  plural: ${codeOf(names.plural)},
${optional("shortNames", names.shortNames)}${optional("categories", names.categories)}${scope === "Cluster" ? '  scope: "Cluster",\n' : ""}  spec: ${spec.code},
  status: ${told.code},
${columnsSource(served)}});
`;
}

/** An instance may be made without a spec when it has nothing that must be given. */
function withDefault(spec: StructuralSchema): StructuralSchema {
  return spec.default === undefined && (spec.required ?? []).length === 0 ? { ...spec, default: {} } : spec;
}

/** Ready and Age come by themselves. */
function columnsSource({ additionalPrinterColumns = [] }: CrdVersion): string {
  const own = additionalPrinterColumns.filter(
    ({ jsonPath }) => jsonPath !== ".metadata.creationTimestamp" && !jsonPath.includes('@.type=="Ready"'),
  );
  if (own.length === 0) return "";
  const columns = own.map(({ name, jsonPath, type, format, description, priority }) => {
    const column: JsonValue = {
      path: jsonPath,
      type,
      ...(format === undefined ? {} : { format }),
      ...(description === undefined ? {} : { description }),
      ...(priority ? { wide: true } : {}),
    };
    return `    ${propertyOf(name)}: ${codeOf(column)},\n`;
  });
  return `  columns: {\n${columns.join("")}  },\n`;
}
