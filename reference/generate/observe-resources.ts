// Asks a running API server, resource by resource, for printer columns and for the fields it can select by.
import { asList, asMap, asString, type JsonMap } from "./json.ts";
import { get, type Observation, type Server } from "./observe.ts";
import { groupVersionFacts } from "./resources.ts";

export interface Column {
  name: string;
  type: string;
  format: string;
  priority: number;
}

export interface ListFacts {
  /** `apps/v1/deployments`. */
  key: string;
  columns: Column[];
  selectors: string[];
  /** What the server says to a field it does not know; `?` stands for the field. */
  selectorRefusal: string;
}

const tableForm = "application/json;as=Table;v=v1;g=meta.k8s.io";
/** Selectors that are no path into the object, but names of their own. */
const oldNames = ["status.successful", "source", "spec.host", "reportingComponent", "reportingController"];
const probeName = "no.such.field";

export async function observeLists(server: Server, observation: Observation): Promise<ListFacts[]> {
  const facts: ListFacts[] = [];
  for (const { group, version, resources } of groupVersionFacts(observation)) {
    const groupVersion = group ? `${group}/${version}` : version;
    for (const resource of resources) {
      if (!resource.verbs.includes("list")) continue;
      const path = `${group ? "/apis" : "/api"}/${groupVersion}/${resource.name}`;
      const candidates = candidatesFor(observation, group, version, resource.kind);
      facts.push({
        key: `${groupVersion}/${resource.name}`,
        columns: await columnsAt(server, path),
        ...(await selectorsAt(server, path, candidates)),
      });
    }
  }
  return facts;
}

async function columnsAt(server: Server, path: string): Promise<Column[]> {
  const table = await get(server, `${path}?limit=1`, tableForm);
  return asList(table.columnDefinitions, path).map((entry) => {
    const column = asMap(entry, path);
    return {
      name: asString(column.name, path),
      type: asString(column.type, path),
      format: asString(column.format, path),
      priority: Number(column.priority),
    };
  });
}

type SelectorFacts = Pick<ListFacts, "selectors" | "selectorRefusal">;

async function selectorsAt(server: Server, path: string, candidates: string[]): Promise<SelectorFacts> {
  const select = (field: string) =>
    server.ask(`${path}?limit=1&fieldSelector=${encodeURIComponent(`${field}=x`)}`);
  const answers = await Promise.all(candidates.map(async (field) => ({ field, ...(await select(field)) })));
  const refused = await select(probeName);
  const message = asString(asMap(refused.body, path).message ?? "", path);
  return {
    selectors: answers.filter(({ status }) => status === 200).map(({ field }) => field),
    selectorRefusal: message.replaceAll(probeName, "?"),
  };
}

/** Every field up to two levels deep: no built-in selector reaches further. */
function candidatesFor(observation: Observation, group: string, version: string, kind: string): string[] {
  const found = [...observation.definitions].find(([, schema]) => {
    const kinds = schema["x-kubernetes-group-version-kind"];
    return (
      Array.isArray(kinds) &&
      kinds.some((entry) => JSON.stringify(entry) === JSON.stringify({ group, kind, version }))
    );
  });
  if (found === undefined) throw new Error(`no definition of ${group}/${version} ${kind}`);
  const candidates = new Set(oldNames);
  for (const [field, schema] of Object.entries(asMap(found[1].properties ?? {}, kind))) {
    candidates.add(field);
    for (const inner of Object.keys(fieldsOf(observation, asMap(schema, field))))
      candidates.add(`${field}.${inner}`);
  }
  return [...candidates].sort();
}

function fieldsOf(observation: Observation, schema: JsonMap): JsonMap {
  const ref = schema.$ref ?? (Array.isArray(schema.allOf) ? asMap(schema.allOf[0], "allOf").$ref : undefined);
  const target =
    ref === undefined
      ? undefined
      : observation.definitions.get(asString(ref, "$ref").replace("#/components/schemas/", ""));
  return asMap(target?.properties ?? {}, "properties");
}
