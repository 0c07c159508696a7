/** The files of an ejected CompositeController: its definition as a value, and a place for its hooks. */
import type { Client } from "@keelson/client";
import { type AnyKind, apiVersionOf, type JsonValue, type KubeObject } from "@keelson/core";
import { CliError } from "../errors.ts";
import { type ApiNames, apiNames } from "../scaffold/names.ts";
import { isBuiltIn, kindKey } from "./built-in.ts";
import { codeOf } from "./code.ts";
import type { Ejected } from "./graph-files.ts";

interface CompositeSpec {
  readonly parentResource: Rule;
  readonly childResources?: readonly Rule[];
  readonly hooks?: Readonly<Record<string, unknown>>;
}

interface Rule {
  readonly apiVersion: string;
  readonly resource: string;
}

export async function compositeFiles(
  { apiVersion, kind, metadata, ...object }: KubeObject,
  discover: Client["discover"],
): Promise<Ejected> {
  const what = `${kind} ${metadata?.name}`;
  if (kind !== "CompositeController") {
    throw new CliError(
      "CannotEject",
      `${what} is not ejected: it adds to objects of others, and its hooks stay where they are`,
    );
  }
  const { spec } = object as unknown as { spec: CompositeSpec };
  const parent = await discover(spec.parentResource.apiVersion, spec.parentResource.resource);
  const children: AnyKind[] = [];
  for (const each of spec.childResources ?? []) children.push(await discover(each.apiVersion, each.resource));
  const api = apiNames(parent);
  const { annotations } = metadata ?? {};
  const definition = {
    apiVersion,
    kind,
    metadata: { name: metadata?.name, ...(annotations && { annotations }) },
    spec,
  };
  const hooks = Object.keys(spec.hooks ?? {});
  return {
    api,
    files: [
      { path: `src/${api.folder}/api.ts`, content: kindSource(parent) },
      {
        path: `src/${api.folder}/controller.ts`,
        content: controllerSource({
          api,
          children,
          definition: definition as unknown as JsonValue,
          parent,
          what,
        }),
      },
      { path: `src/${api.folder}/hooks.ts`, content: hooksSource({ api, children, what }) },
    ],
    packages: ["@keelson/hooks"],
    notes: [
      `${what}: its ${hooks.join(" and ")} ${hooks.length === 1 ? "hook is" : "hooks are"} still asked where the definition ` +
        `says; write functions into src/${api.folder}/hooks.ts to replace them`,
    ],
  };
}

function kindSource({ group, version, kind, resource, scope }: AnyKind): string {
  return `/** ${kind}, whose CustomResourceDefinition is installed by others. */
import { dynamicKind, type JsonObject, type Kind, type KubeObject } from "keelson";

/** A ${kind} as its hooks see it; say here what its spec and its status hold. */
export interface ${kind} extends KubeObject {
  spec?: JsonObject;
  status?: JsonObject;
}

export const ${kind} = dynamicKind(${codeOf({ group, version, kind, resource, scope })}) as Kind<${kind}>;
`;
}

interface Parts {
  readonly api: ApiNames;
  readonly children: readonly AnyKind[];
  readonly what: string;
}

function controllerSource({
  api: { controller, kind },
  children,
  definition,
  parent,
  what,
}: Parts & { readonly definition: JsonValue; readonly parent: AnyKind }): string {
  const own = children.filter(isBuiltIn).map((each) => each.kind);
  const kinds = [...new Map([parent, ...children].map((each) => [kindKey(each), each])).values()];
  const listed = kinds.map((each) => {
    if (kindKey(each) === kindKey(parent)) return kind;
    if (isBuiltIn(each)) return each.kind;
    const { group, version, kind: name, resource, scope } = each;
    return `dynamicKind(${codeOf({ group, version, kind: name, resource, scope })})`;
  });
  const dynamic = listed.some((each) => each.startsWith("dynamicKind"));
  const imports = [...new Set(own)].sort();
  return `/** ${what} as a controller. Written by \`keelson eject\`, and yours to change; its hooks are in hooks.ts. */
import { hookControllers } from "@keelson/hooks";
import { type AnyKind${dynamic ? ", dynamicKind" : ""} } from "keelson";
${imports.length === 0 ? "" : `import { ${imports.join(", ")} } from "keelson/kinds";\n`}import { ${kind} } from "./api.ts";
import { hooks } from "./hooks.ts";

/** As it was in YAML: what children are updated how, and where hooks are asked that are no functions. */
const definition = ${codeOf(definition)};

/** The kinds that it names. The role follows from them. */
const kinds: readonly AnyKind[] = [${listed.join(", ")}];

async function discover(apiVersion: string, resource: string): Promise<AnyKind> {
  const found = kinds.find(
    (each) => (each.group === "" ? each.version : \`\${each.group}/\${each.version}\`) === apiVersion && each.resource === resource,
  );
  if (!found) throw new Error(\`\${resource} of \${apiVersion} is none of the kinds of ${what}; add it to them\`);
  return found;
}

const [made] = await hookControllers([definition], { discover }, { functions: hooks });
if (!made) throw new Error("${what} gave no controller");

/** It takes over what Metacontroller made: the same finalizer, labels, revisions and field manager. */
export const ${controller} = made;
`;
}

function hooksSource({ api: { kind }, children, what }: Parts): string {
  const typed = children.filter(isBuiltIn).map((each) => each.kind);
  const imports = [...new Set(typed)].sort();
  const fields = children.map((each) => {
    const type = isBuiltIn(each) ? `ObjectOf<typeof ${each.kind}>` : "KubeObject";
    return `  readonly ${codeOf(`${each.kind}.${apiVersionOf(each)}`)}: Readonly<Record<string, ${type}>>;\n`;
  });
  const fromKeelson = [
    ...(children.some((each) => !isBuiltIn(each)) ? ["KubeObject"] : []),
    ...(imports.length > 0 ? ["ObjectOf"] : []),
  ];
  return `/**
 * The hooks of ${what}. A hook that is no function here is asked where the definition says, as before:
 * write \`sync\`, and the program behind its address is not needed any more.
 */
import type { HookFunctions, ObjectsByKind, SyncAnswer, SyncRequest } from "@keelson/hooks";
${fromKeelson.length === 0 ? "" : `import type { ${fromKeelson.join(", ")} } from "keelson";\n`}${imports.length === 0 ? "" : `import type { ${imports.join(", ")} } from "keelson/kinds";\n`}import type { ${kind} } from "./api.ts";

/** Children that are there, by kind and name. */
interface Children extends ObjectsByKind {
${fields.join("")}}

/** What a hook is asked, and what it answers: the children that a parent should have, and its status. */
export type Sync = (request: SyncRequest<${kind}, Children>) => SyncAnswer | Promise<SyncAnswer>;

interface Hooks extends Pick<HookFunctions, "customize"> {
  readonly sync?: Sync;
  readonly finalize?: Sync;
}

export const hooks: Hooks = {
  // sync: ({ parent, children }) => ({ status: {}, children: [] }),
};
`;
}
