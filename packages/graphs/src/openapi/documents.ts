/** Schemas of kinds, from the OpenAPI documents that the server publishes. Each document is read once. */
import { type AnyKind, type JsonValue, parseJson } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import { type OpenApiSchema, type RootedSchema, Schemas } from "./schema.ts";

/** Where schemas come from. */
export interface SchemaSource {
  /** Undefined when the server publishes none: nothing can be checked then, and anything may stand there. */
  schemaOf(kind: AnyKind): Promise<RootedSchema | undefined>;
  /** The schema of metadata, for instances: their own schema says no more than that it is an object. */
  objectMeta(): Promise<RootedSchema | undefined>;
}

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, OpenApiSchema>> };
}

/** The schema of metadata, which every object has, under its name in every document. */
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

export class OpenApiDocuments implements SchemaSource {
  readonly #read: (path: string) => Promise<JsonValue>;
  /** By the address in the index, which changes with the document. */
  #documents = new Map<string, Promise<Document>>();

  constructor(read: (path: string) => Promise<JsonValue>) {
    this.#read = read;
  }

  async schemaOf(kind: AnyKind): Promise<RootedSchema | undefined> {
    const name = kind.group === "" ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
    const components = (await this.#document(name))?.components?.schemas ?? {};
    const schema = Object.values(components).find((each) =>
      each["x-kubernetes-group-version-kind"]?.some(
        (its) => its.group === kind.group && its.version === kind.version && its.kind === kind.kind,
      ),
    );
    return schema && { schema, schemas: new Schemas(components) };
  }

  async objectMeta(): Promise<RootedSchema | undefined> {
    const components = (await this.#document("api/v1"))?.components?.schemas ?? {};
    const schema = components[objectMeta];
    return schema && { schema, schemas: new Schemas(components) };
  }

  async #document(name: string): Promise<Document | undefined> {
    const index = asJson(await this.#read("/openapi/v3")) as {
      paths?: Record<string, { serverRelativeURL?: string }>;
    };
    const address = index.paths?.[name]?.serverRelativeURL;
    if (address === undefined) return undefined;
    let document = this.#documents.get(address);
    if (!document) {
      document = this.#read(address).then((answer) => asJson(answer) as unknown as Document);
      document.catch(() => this.#documents.delete(address));
      this.#forget(name);
      this.#documents.set(address, document);
    }
    return await document;
  }

  /** Earlier forms of a document are not asked for again. */
  #forget(name: string): void {
    for (const address of this.#documents.keys()) {
      if (address.split("?")[0] === `/openapi/v3/${name}`) this.#documents.delete(address);
    }
  }
}

/** The index is sent as text. */
function asJson(answer: JsonValue): JsonValue {
  return typeof answer === "string" && !isObject(answer) ? parseJson(answer) : answer;
}
