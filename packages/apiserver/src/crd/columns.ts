/** Tables of custom resources, from the columns of their definition. */
import type { JsonValue } from "@keelson/core";
import { ageOf } from "../contracts/age.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { Printer, TableColumn } from "../contracts/printer.ts";
import { creationDescription, nameDescription } from "../rest/table-output.ts";
import type { DefinitionColumn } from "./definition.ts";
import { findJsonPath, type JsonPath, parseJsonPath } from "./json-path.ts";

const age: DefinitionColumn = {
  name: "Age",
  type: "date",
  description: creationDescription,
  jsonPath: ".metadata.creationTimestamp",
};

export function customPrinter(columns: readonly DefinitionColumn[]): Printer {
  const shown = (columns.length > 0 ? columns : [age]).map((column) => ({
    column,
    path: tryParse(column.jsonPath),
  }));
  return {
    columns: [
      { name: "Name", type: "string", format: "name", description: nameDescription },
      ...shown.map(
        ({ column }): TableColumn => ({
          name: column.name,
          type: column.type as TableColumn["type"],
          format: column.format ?? "",
          description:
            column.description ??
            `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
          priority: column.priority ?? 0,
        }),
      ),
    ],
    row: (object, { nowMs }) => ({
      cells: [
        object.metadata.name,
        ...shown.map(({ column, path }) => (path ? cell(column.type, path, object, nowMs) : null)),
      ],
    }),
  };
}

/** A path that cannot be read prints nothing: it was accepted as text alone. */
function tryParse(text: string): JsonPath | undefined {
  try {
    return parseJsonPath(text);
  } catch {
    return undefined;
  }
}

function cell(type: string, path: JsonPath, object: ApiObject, nowMs: number): JsonValue {
  const [value] = findJsonPath(path, object);
  if (value === undefined) return null;
  switch (type) {
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageText(value, nowMs) : null;
    default:
      if (value === null) return "<nil>";
      return typeof value === "object" ? JSON.stringify(value) : String(value);
  }
}

function ageText(text: string, nowMs: number): string {
  try {
    return ageOf(text, nowMs);
  } catch {
    return "<invalid>";
  }
}
