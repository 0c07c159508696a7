/** How a kind is printed as rows of a table. */
import type { JsonObject, JsonValue } from "@keelson/core";
import type { ApiObject } from "./object.ts";

export interface TableColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

/** Prints one kind. Cells are as many as columns; `conditions` mark finished rows (`Completed`). */
export interface Printer {
  readonly columns: readonly TableColumn[];
  row(object: ApiObject, context: { readonly nowMs: number }): TableRow;
}

export interface TableRow {
  readonly cells: readonly JsonValue[];
  readonly conditions?: readonly JsonObject[];
}
