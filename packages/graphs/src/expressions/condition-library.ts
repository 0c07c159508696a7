/** `runtime`, with which a definition writes conditions of its own. */
import {
  CelList,
  CelMap,
  type CelValue,
  EntryMap,
  type Environment,
  mapType,
  objectType,
  types,
} from "@keelson/cel";
import { fault, type Library, type Macro, type MapEntry, member, Opaque } from "@keelson/cel/internal";

const { dyn, string } = types;
const conditionType = objectType("kro.run.Condition");
const runtimeType = objectType("kro.run.Runtime");
const fields = ["type", "status", "reason", "message"] as const;

/** The value of the variable `runtime`: it has methods alone. */
class Runtime extends Opaque {
  readonly type = runtimeType;

  equals(other: CelValue): boolean {
    return other === this;
  }
}

export const runtimeValue: CelValue = new Runtime();

function condition(of: (field: string) => CelValue | undefined): EntryMap {
  return EntryMap.of(fields.map((field) => [field, of(field) ?? ""]));
}

function newCondition([, given]: readonly CelValue[]): CelValue {
  if (!(given instanceof CelMap)) return fault("no such overload");
  const made = condition((field) => given.find(field));
  if (made.find("type") === "") return fault("runtime.newCondition needs a type");
  if (!["True", "False", "Unknown"].includes(String(made.find("status")))) {
    return fault(
      `runtime.newCondition: the status is True, False or Unknown, not ${String(made.find("status"))}`,
    );
  }
  return made;
}

/** An empty condition when the object has none of this type. */
function findCondition([, object, wanted]: readonly CelValue[]): CelValue {
  const status = object instanceof CelMap ? object.find("status") : undefined;
  const listed = status instanceof CelMap ? status.find("conditions") : undefined;
  for (const each of listed instanceof CelList ? listed : []) {
    if (each instanceof CelMap && each.find("type") === wanted) return condition((field) => each.find(field));
  }
  return condition(() => undefined);
}

/** `{type: 'X'}` reads as `{'type': 'X'}`: the keys are names and no variables. */
const literalKeys: Macro = {
  fn: "newCondition",
  argCount: 1,
  receiver: true,
  expand(build, target, [given]) {
    if (given?.kind !== "map") return undefined;
    const entries = given.entries.map(
      (entry): MapEntry =>
        entry.key.kind === "ident" ? { ...entry, key: build.literal(entry.key.name) } : entry,
    );
    const unknown = entries.find(
      ({ key }) => key.kind === "literal" && !(fields as readonly string[]).includes(String(key.value)),
    );
    if (unknown) build.fail(unknown.key, `a condition has ${fields.join(", ")} and nothing else`);
    return build.memberCall("newCondition", target, build.map(...entries));
  },
};

const conditionLibrary: Library = {
  name: "conditions",
  macros: [literalKeys],
  functions: [
    {
      name: "newCondition",
      overloads: [
        member("runtime_newCondition", [runtimeType, mapType(string, string)], conditionType, newCondition),
      ],
    },
    {
      name: "condition",
      overloads: [member("runtime_condition", [runtimeType, dyn, string], conditionType, findCondition)],
    },
  ],
};

/** The environment in which conditions are written. */
export function withConditions(environment: Environment): Environment {
  return environment.extend({
    libraries: [conditionLibrary],
    variables: { runtime: runtimeType },
    objects: [
      { name: conditionType.name, fields: new Map(fields.map((field) => [field, string])) },
      { name: runtimeType.name, fields: new Map() },
    ],
  });
}
