/** How Go names the fields and types of the built-in kinds, for messages about values that do not fit. */
import { lookupTable } from "@keelson/core/internal";
import { embeddedFields, namedTypes } from "./go-types.generated.ts";
import type { Field, Shape, StructShape } from "./shape.ts";

const scalars: Readonly<Record<string, string>> = lookupTable({
  quantity: "resource.Quantity",
  time: "v1.Time",
  microtime: "v1.MicroTime",
  duration: "v1.Duration",
  "int-or-string": "intstr.IntOrString",
  bytes: "[]uint8",
});

/** `v1.Container`, `[]string`, `map[string]resource.Quantity`. */
export function goTypeOf(shape: Shape): string {
  switch (shape.type) {
    case "struct":
      return shape.definition.split(".").slice(-2).join(".");
    case "scalar":
      return scalars[shape.scalar] ?? shape.scalar;
    case "list":
      return `[]${goTypeOf(shape.items)}`;
    case "map":
      return `map[string]${goTypeOf(shape.values)}`;
    case "schema-or":
      return goTypeOf({ type: "any" });
    case "any":
      return "interface {}";
  }
}

/** The type of a field, which may have a name of its own: `v1.Protocol`. */
export function goFieldType(owner: StructShape, field: Field): string {
  return table(named, namedTypes).get(`${owner.definition}.${field.name}`) ?? goTypeOf(field.shape);
}

/** The field's part of a path: `VolumeSource.configMap` when it belongs to an embedded structure. */
export function goFieldPath(owner: StructShape, field: Field): string {
  const embedded = table(embeds, embeddedFields).get(`${owner.definition}.${field.name}`);
  return embedded ? `${embedded}.${field.name}` : field.name;
}

const named = new Map<string, string>();
const embeds = new Map<string, string>();

/** `Type:field=type,…` and `Type@Embedded:field,…` by package, as `package.Type.field` → what stands for it. */
function table(
  expanded: Map<string, string>,
  packed: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  if (expanded.size > 0) return expanded;
  for (const [pkg, types] of Object.entries(packed)) {
    for (const entry of types.split(" ")) {
      const colon = entry.indexOf(":");
      const [type = "", embedded] = entry.slice(0, colon).split("@");
      for (const item of entry.slice(colon + 1).split(",")) {
        const [field = "", name] = item.split("=");
        expanded.set(`${pkg}.${type}.${field}`, name ?? embedded ?? "");
      }
    }
  }
  return expanded;
}
