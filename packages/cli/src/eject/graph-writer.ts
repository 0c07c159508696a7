/** Writes the controller that does what a graph does. */
import type { JsonObject } from "@keelson/core";
import type { Graph } from "@keelson/graphs";
import type { ApiNames } from "../scaffold/names.ts";
import { isBuiltIn, kindKey } from "./built-in.ts";
import { camelCase, codeOf, propertyOf, variableOf } from "./code.ts";
import { formatsFor, type RootedSchema } from "./formats.ts";
import {
  builderOf,
  controllerName,
  type GraphNode,
  isExternal,
  isMany,
  isRef,
  slotsOf,
  slotVariable,
  specOf,
} from "./graph-nodes.ts";
import {
  commentOf,
  fixedLabels,
  isExact,
  labelsCode,
  objectCode,
  pathKey,
  place,
  plainName,
  typeText,
} from "./source-parts.ts";
import { type Translated, translate, type Variable } from "./translate.ts";

type Expression = GraphNode["readyWhen"][number];

/** A controller's source, and what it needs. */
export interface ControllerSource {
  readonly code: string;
  /** Some expressions stay CEL. */
  readonly cel: boolean;
  readonly omits: boolean;
  readonly translated: number;
  readonly kept: number;
}

export function controllerSource(graph: Graph, api: ApiNames): ControllerSource {
  return new GraphWriter(graph, api).write();
}

/** How the variables of an expression are written in a place: objects themselves, or what a pass made. */
interface Scope {
  readonly variables: ReadonlyMap<string, Variable>;
  /** The code of each variable for CEL. */
  readonly bindings: ReadonlyMap<string, string>;
}

interface Builder {
  /** The whole function. */
  readonly code: string;
  readonly body: string;
}

class GraphWriter {
  readonly #graph: Graph;
  readonly #api: ApiNames;
  readonly #imports = new Set<string>();
  readonly #helpers = new Set<string>();
  readonly #constants = new Map<string, { readonly name: string; readonly code: string }>();
  readonly #builders = new Map<string, Builder>();
  #translated = 0;
  #kept = 0;

  constructor(graph: Graph, api: ApiNames) {
    this.#graph = graph;
    this.#api = api;
    for (const { kind } of graph.nodes) {
      if (isBuiltIn(kind)) this.#imports.add(kind.kind);
    }
  }

  write(): ControllerSource {
    const { kind, controller } = this.#api;
    const { nodes } = this.#graph;
    const owned = nodes.filter((node) => !isExternal(node));
    const builders = owned.map((node) => this.#builder(node).code);
    const reads = nodes.filter(isExternal).map((node) => this.#read(node));
    const status = this.#status();
    const steps = this.#steps(status);
    const slots = slotsOf(owned);
    const slotNames = slots.map(({ variable }) => variable).join(", ");
    const parts = [
      this.#header(),
      this.#dynamicKinds(),
      `type Instance = ObjectOf<typeof ${kind}>;\n`,
      this.#expressions(),
      `export const ${controller} = controller(${kind}, {
  // The graph's names: what it made is found, and what kro applied is taken over field by field.
  name: ${codeOf(controllerName(this.#graph))},
  fieldManager: "kro.run/applyset",
  finalizer: "kro.run/finalizer",
  owns: {
${slots.map(({ slot, kind: each }) => `    ${propertyOf(slot)}: graphChildren(${each.kind}, ${kind}),\n`).join("")}  },
${reads.length === 0 ? "" : `  reads: {\n${reads.join("")}  },\n`}
  async reconcile(schema, ctx) {
    if (isSuspended(schema)) {
      return waiting("ReconciliationSuspended", "the annotation kro.run/reconcile suspends it");
    }
    const { ${slots.map(({ slot, variable }) => `${propertyOf(slot)}: ${variable}`).join(", ")} } = ctx.own;
    const pass = new Pass(${kind}, schema);
${steps.join("")}    await pass.prune([${slotNames}]);
    ctx.setStatus({ ${status}state: pass.state });
    return pass.outcome();
  },

  async finalize(_schema, ctx) {
    if (ctx.orphaned) return done();
    return await deleteInOrder(Object.values(ctx.own));
  },
});
`,
      ...builders,
    ];
    return {
      code: parts.filter((part) => part !== "").join("\n"),
      cel: this.#constants.size > 0,
      omits: this.#helpers.has("withoutOmitted"),
      translated: this.#translated,
      kept: this.#kept,
    };
  }

  #header(): string {
    const { kind } = this.#api;
    const fromKeelson = [
      "controller",
      ...(this.#graph.nodes.some((node) => !isExternal(node)) ? ["type Desired"] : []),
      "done",
      ...(this.#dynamicKinds() === "" ? [] : ["dynamicKind"]),
      "type ObjectOf",
      ...this.#readImports(),
      "waiting",
    ];
    const support = ["deleteInOrder", "graphChildren", "isSuspended", "Pass", ...this.#helpers];
    const sorted = (names: readonly string[]) =>
      [...names].sort((a, b) => plainName(a).localeCompare(plainName(b), "en", { sensitivity: "base" }));
    const cel =
      this.#constants.size === 0 ? "" : 'import { expression } from "@keelson/graphs/expressions";\n';
    const kinds =
      this.#imports.size === 0
        ? ""
        : `import { ${sorted([...this.#imports]).join(", ")} } from "keelson/kinds";\n`;
    const kept =
      this.#constants.size === 0
        ? "Its expressions are TypeScript now."
        : "Expressions that TypeScript has no exact form for are still CEL, and evaluated as the graph did.";
    return `/**
 * What a ${kind} becomes. Written by \`keelson eject\` from the ResourceGraphDefinition ${this.#graph.name}, and yours to change.
 * ${kept}
 */
${cel}import { ${sorted(fromKeelson).join(", ")} } from "keelson";
${kinds}import { ${kind} } from "./api.ts";
import { ${sorted(support).join(", ")} } from "./graph.ts";
`;
  }

  #readImports(): string[] {
    const external = this.#graph.nodes.filter(isExternal);
    return [
      ...(external.some(isRef) ? ["ref"] : []),
      ...(external.some((node) => !isRef(node)) ? ["all"] : []),
    ];
  }

  #dynamicKinds(): string {
    const others = [...new Map(this.#graph.nodes.map(({ kind }) => [kindKey(kind), kind])).values()].filter(
      (kind) => !isBuiltIn(kind),
    );
    return others
      .map(({ kind, group, version, resource, scope }) => {
        return `const ${kind} = dynamicKind(${codeOf({ group, version, kind, resource, scope })});\n`;
      })
      .join("");
  }

  #expressions(): string {
    return [...this.#constants.values()].map(({ code }) => code).join("");
  }

  // ------------------------------------------------------------------------------------ expressions

  #code(expression: Expression, scope: Scope, name: string): Translated {
    const translated = translate(expression.program, scope.variables);
    if (translated && !expression.usesOmit) {
      this.#translated++;
      for (const helper of translated.helpers) this.#helpers.add(helper);
      return translated;
    }
    this.#kept++;
    const used = [...scope.bindings.keys()].filter((each) => expression.references.has(each));
    const variables = used.map((each) => {
      const formats = formatsFor(each, this.#schemaOf(each), expression.program);
      return `${propertyOf(each)}: ${codeOf(formats)}`;
    });
    const { source } = expression;
    const key = `${source} ${variables.join()}`;
    const known = this.#constants.get(key);
    const constant = known?.name ?? this.#free(name);
    if (!known) {
      const code = `// CEL, as in the graph: ${commentOf(expression.shown)}
const ${constant} = expression<${typeText(expression.type)}>(${codeOf(source)}, { ${variables.join(", ")} });
`;
      this.#constants.set(key, { name: constant, code });
    }
    const given = used.map((each) => {
      const code = scope.bindings.get(each) as string;
      return code === each ? each : `${propertyOf(each)}: ${code}`;
    });
    return { code: `${constant}({ ${given.join(", ")} })`, total: false, helpers: new Set() };
  }

  #free(name: string): string {
    const names = new Set([...this.#constants.values()].map((each) => each.name));
    for (let number = 1; ; number++) {
      const tried = variableOf(number === 1 ? name : `${name}${number}`);
      if (!names.has(tried)) return tried;
    }
  }

  #schemaOf(variable: string): RootedSchema | undefined {
    if (variable === "schema") return this.#graph.schema;
    const node = this.#graph.nodes.find(({ id }) => id === variable);
    const rooted = node?.schema;
    if (!rooted || !node) return undefined;
    return isMany(node)
      ? { schema: { type: "array", items: rooted.schema }, schemas: rooted.schemas }
      : rooted;
  }

  #scope(
    of: (node: GraphNode) => { readonly code: string; readonly binding: string },
    more: ReadonlyMap<string, Variable> = new Map(),
  ): Scope {
    const spec = specOf(this.#graph);
    const variables = new Map<string, Variable>([["schema", { code: "schema", shape: "instance", spec }]]);
    const bindings = new Map([["schema", "schema"]]);
    for (const node of this.#graph.nodes) {
      const { code, binding } = of(node);
      bindings.set(node.id, binding);
      if (isMany(node)) variables.set(node.id, { code, shape: "list" });
      else if (isBuiltIn(node.kind)) variables.set(node.id, { code, shape: "typed" });
    }
    for (const [name, variable] of more) {
      variables.set(name, variable);
      bindings.set(name, variable.code);
    }
    return { variables, bindings };
  }

  /** Where a pass is at hand: what it has made so far. */
  #inPass(): Scope {
    return this.#scope((node) => ({
      code: `${variableOf(node.id)}.${isMany(node) ? "objects" : "object"}`,
      binding: `${variableOf(node.id)}.${isMany(node) ? "allSeen" : "seen"}`,
    }));
  }

  // ------------------------------------------------------------------------------------ resources

  /** The function that says what should be there of a resource. */
  #builder(node: GraphNode): Builder {
    const known = this.#builders.get(node.id);
    if (known) return known;
    const loops = new Map(
      node.forEach.map(({ name }): [string, Variable] => [name, { code: variableOf(name), shape: "value" }]),
    );
    const scope = this.#scope(({ id }) => ({ code: variableOf(id), binding: variableOf(id) }), loops);
    const type = `Desired<typeof ${node.kind.kind}>`;
    let body = this.#desired(node, scope, type);
    for (const [index, { name, list }] of node.forEach.entries().toArray().reverse()) {
      const { code } = this.#code(list, scope, camelCase(node.id, name));
      const method = index === node.forEach.length - 1 ? "map" : "flatMap";
      body = `${code}.${method}((${variableOf(name)}) => (${body}))`;
    }
    const returns = node.forEach.length > 0 ? `${type}[]` : type;
    const code = `function ${builderOf(node)}(${this.#parameters(node, body)}): ${returns} {
  return ${body};
}
`;
    const made = { code, body };
    this.#builders.set(node.id, made);
    return made;
  }

  #desired(node: GraphNode, scope: Scope, type: string): string {
    const fields = new Map(
      node.fields.map(({ at, expression }) => [
        pathKey(at),
        this.#code(expression, scope, camelCase(node.id, ...at.map(String))).code,
      ]),
    );
    const { apiVersion: _apiVersion, kind: _kind, ...template } = node.template;
    const literal = objectCode(template, [], fields);
    const omits = node.fields.some(({ expression }) => expression.usesOmit);
    if (omits) this.#helpers.add("withoutOmitted");
    const filled = omits ? `withoutOmitted(${literal})` : literal;
    const isLoose = !isBuiltIn(node.kind) || node.fields.some(({ expression }) => !isExact(expression.type));
    return isLoose ? `${filled} as unknown as ${type}` : filled;
  }

  /** What a builder reads, each with its type. */
  #parameters(node: GraphNode, body: string): string {
    return this.#arguments(node, body)
      .map((name) => {
        if (name === "schema") return "schema: Instance";
        const read = this.#graph.nodes.find(({ id }) => variableOf(id) === name) as GraphNode;
        const type = `ObjectOf<typeof ${read.kind.kind}>`;
        return `${name}: ${isMany(read) ? `readonly ${type}[]` : type}`;
      })
      .join(", ");
  }

  #arguments(node: GraphNode, body: string): string[] {
    const names = ["schema", ...node.dependencies.map(variableOf)];
    return names.filter((name) =>
      new RegExp(`(?<![\\w.$"])${name}\\b(?!["':])|\\b${name}: ${name}\\b`).test(body),
    );
  }

  /** A resource that nothing looks at afterwards needs no name. */
  #steps(status: string): string[] {
    const codes = this.#graph.nodes.map((node) => this.#step(node));
    return codes.map((code, index) => {
      const { id } = this.#graph.nodes[index] as GraphNode;
      const later = [...codes.slice(index + 1), status].join("\n");
      const isUsed = new RegExp(`\\b${variableOf(id)}\\b`).test(later);
      return isUsed ? code : code.replace(/^(\s*)const \w+ = /, "$1");
    });
  }

  #step(node: GraphNode): string {
    const variable = variableOf(node.id);
    const rules = [...this.#rules(node), ...this.#ready(node)];
    if (isExternal(node)) {
      const find = `find: () => ${this.#find(node)}`;
      return `    const ${variable} = await pass.read(${codeOf(node.id)}, { ${[...rules, find].join(", ")} });\n`;
    }
    const given = this.#arguments(node, this.#builder(node).body).map((name) => {
      if (name === "schema") return name;
      const read = this.#graph.nodes.find(({ id }) => variableOf(id) === name) as GraphNode;
      return `${name}.${isMany(read) ? "objects" : "object"}`;
    });
    const parts = [
      `wave: ${node.wave}`,
      ...(node.kind.scope === "Cluster" ? ['scope: "Cluster"'] : []),
      ...rules,
      `desired: () => ${builderOf(node)}(${given.join(", ")})`,
    ];
    const method = node.type === "collection" ? "each" : "one";
    const slot = slotVariable(node.kind);
    return `    const ${variable} = await pass.${method}(${codeOf(node.id)}, ${slot}, { ${parts.join(", ")} });\n`;
  }

  #rules(node: GraphNode): string[] {
    const rules: string[] = [];
    if (node.dependencies.length > 0) rules.push(`after: [${node.dependencies.map(variableOf).join(", ")}]`);
    if (node.includeWhen.length > 0) {
      const ids = new Set(this.#graph.nodes.map(({ id }) => id));
      const read = node.includeWhen.flatMap(({ references }) => [...references].filter((id) => ids.has(id)));
      const codes = node.includeWhen.map((each, index) =>
        this.#truth(each, this.#inPass(), node, "include", index),
      );
      rules.push(`when: () => ${codes.join(" && ")}`);
      if (read.length > 0) rules.push(`whenAfter: [${[...new Set(read)].map(variableOf).join(", ")}]`);
    }
    return rules;
  }

  /** Nothing at all is false. */
  #truth(expression: Expression, scope: Scope, node: GraphNode, word: string, index: number): string {
    const { code } = this.#code(expression, scope, camelCase(node.id, word, String(index)));
    const isBoolean = expression.type.kind === "bool";
    const grouped = / [?|&=!<>]{1,3} /.test(code) ? `(${code})` : code;
    return isBoolean ? grouped : `Boolean(${code})`;
  }

  #ready(node: GraphNode): string[] {
    if (node.readyWhen.length === 0) return [];
    const parameter = isMany(node) ? "each" : variableOf(node.id);
    const shape = new Map<string, Variable>([
      [isMany(node) ? "each" : node.id, { code: parameter, shape: "typed" }],
    ]);
    const scope: Scope = {
      variables: isBuiltIn(node.kind) ? shape : new Map(),
      bindings: new Map([[isMany(node) ? "each" : node.id, parameter]]),
    };
    const codes = node.readyWhen.map((each, index) => {
      return `(${parameter}) => ${this.#truth(each, scope, node, "ready", index)}`;
    });
    return [`ready: [${codes.join(", ")}]`];
  }

  #read(node: GraphNode): string {
    const name = propertyOf(node.id);
    const { kind } = node.kind;
    if (!isRef(node)) {
      const { selector } = node.template["metadata"] as { selector?: JsonObject };
      const fixed = selector !== undefined && node.fields.every(({ at }) => at[1] !== "selector");
      const labels = fixed ? fixedLabels(selector) : undefined;
      return `    ${name}: all(${kind}${labels === undefined ? "" : `, { labels: ${codeOf(labels)} }`}),\n`;
    }
    this.#helpers.add("orNothing");
    return `    ${name}: ref(${kind}, (schema: Instance) => orNothing(() => (${this.#place(node)}))),\n`;
  }

  /** Name and namespace of what is read. */
  #place(node: GraphNode): string {
    const scope = this.#scope(({ id }) => ({
      code: `${variableOf(id)}.object`,
      binding: `${variableOf(id)}.seen`,
    }));
    const fields = new Map(
      node.fields.map(({ at, expression }) => [
        pathKey(at),
        this.#code(expression, scope, camelCase(node.id, ...at.map(String))).code,
      ]),
    );
    const { name, namespace } = node.template["metadata"] as { name?: string; namespace?: string };
    const part = (key: string, value: string | undefined) =>
      fields.get(pathKey(["metadata", key])) ?? (value === undefined ? undefined : codeOf(value));
    const where = part("namespace", namespace);
    const parts = [
      `name: ${part("name", name)}`,
      ...(node.kind.scope === "Cluster" ? [] : [`namespace: ${where ?? this.#home()}`]),
    ];
    return `{ ${parts.join(", ")} }`;
  }

  #home(): string {
    this.#helpers.add("need");
    return 'need(schema.metadata.namespace, "schema.metadata.namespace")';
  }

  #find(node: GraphNode): string {
    const read = `ctx.read${/^[a-z]\w*$/i.test(node.id) ? `.${node.id}` : `[${codeOf(node.id)}]`}`;
    if (isRef(node)) return read;
    if (node.type === "external") {
      this.#helpers.add("isAt");
      return `${read}.find(isAt(${this.#place(node)}))`;
    }
    const { selector, namespace } = node.template["metadata"] as {
      selector?: JsonObject;
      namespace?: string;
    };
    const scope = this.#inPass();
    const fields = new Map(
      node.fields.map(({ at, expression }) => [
        pathKey(at),
        this.#code(expression, scope, camelCase(node.id, ...at.map(String))).code,
      ]),
    );
    const isFixed = node.fields.every(({ at }) => at[1] !== "selector");
    const where =
      fields.get(pathKey(["metadata", "namespace"])) ?? (namespace ? codeOf(namespace) : undefined);
    const labels = isFixed ? undefined : labelsCode(selector ?? {}, fields);
    if (where === undefined && labels === undefined) return read;
    this.#helpers.add("isAmong");
    const parts = [
      ...(where === undefined ? [] : [`namespace: ${where}`]),
      ...(labels === undefined ? [] : [`labels: ${labels}`]),
    ];
    return `${read}.filter(isAmong({ ${parts.join(", ")} }))`;
  }

  // ------------------------------------------------------------------------------------ status

  #status(): string {
    const { status } = this.#graph;
    if (status.length === 0) return "";
    this.#helpers.add("collect");
    const scope = this.#inPass();
    const tree: JsonObject = {};
    const fields = new Map<string, string>();
    for (const { at, expression } of status) {
      const { code } = this.#code(expression, scope, camelCase("status", ...at.map(String)));
      fields.set(pathKey(at), `() => ${code.startsWith("{") ? `(${code})` : code}`);
      place(tree, at);
    }
    return `...collect(${objectCode(tree, [], fields)}), `;
  }
}
