/** Replica counts of custom resources, at the paths their definition names. */
import { deepCopy, type JsonObject, type JsonValue } from "@keelson/core";
import { type FieldError, invalidField } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { internalError } from "../contracts/status-error.ts";
import type { ScaleAccess } from "../registry/api-resource.ts";
import type { DefinitionScale } from "./definition.ts";
import { fieldAt } from "./json-path.ts";
import { isObject } from "./schema.ts";

export function customScale(scale: DefinitionScale): ScaleAccess {
  const path = scale.specReplicasPath.replace(/^\./, "").split(".");
  return {
    path,
    read: (object) => ({
      replicas: count(fieldAt(object, scale.specReplicasPath)),
      statusReplicas: count(fieldAt(object, scale.statusReplicasPath)),
      selector: scale.labelSelectorPath ? text(fieldAt(object, scale.labelSelectorPath)) : "",
    }),
    assertReadable(object) {
      if (fieldAt(object, scale.specReplicasPath) === undefined)
        throw internalError(
          `the spec replicas field ${JSON.stringify(scale.specReplicasPath)} does not exist`,
        );
    },
    write(draft, replicas) {
      const top = path[0] as string;
      const copy = { [top]: deepCopy(draft[top] ?? {}) } as JsonObject;
      let at: JsonObject = copy;
      for (const part of path.slice(0, -1)) {
        if (!isObject(at[part])) at[part] = {};
        at = at[part] as JsonObject;
      }
      at[path.at(-1) as string] = replicas;
      draft[top] = copy[top] as JsonValue;
    },
  };
}

/** Replica counts must be counts. */
export function validateCustomScale(scale: DefinitionScale, object: ApiObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const path of [scale.specReplicasPath, scale.statusReplicasPath]) {
    const value = fieldAt(object, path);
    if (value === undefined || value === null) continue;
    if (typeof value !== "number" || !Number.isInteger(value)) {
      errors.push(
        invalidField(
          path,
          value,
          `${path} accessor error: ${JSON.stringify(value)} is of the type ${typeof value}, expected int64`,
        ),
      );
    } else if (value < 0) errors.push(invalidField(path, value, "should be a non-negative integer"));
    else if (value > 2147483647)
      errors.push(invalidField(path, value, "should be less than or equal to 2147483647"));
  }
  if (scale.labelSelectorPath) {
    const value = fieldAt(object, scale.labelSelectorPath);
    if (value !== undefined && value !== null && typeof value !== "string")
      errors.push(
        invalidField(
          scale.labelSelectorPath,
          value,
          `accessor error: the value is of the type ${typeof value}, expected string`,
        ),
      );
  }
  return errors;
}

function count(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : 0;
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
