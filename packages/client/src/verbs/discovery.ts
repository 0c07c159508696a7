/** What kinds a server has, as far as it says so itself. */
import { type AnyKind, dynamicKind, groupKind, parseApiVersion, type Scope } from "@keelson/core";
import type { RequestOptions } from "../client/client.ts";
import { ClientError, isNotFound } from "../errors.ts";
import type { Requester } from "../request/requester.ts";

const aggregatedAccept =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," +
  "application/json";

interface GroupDiscovery {
  metadata?: { name?: string };
  versions?: {
    version: string;
    resources?: { resource: string; responseKind?: { kind?: string }; scope?: Scope }[];
  }[];
}

interface ResourceList {
  resources?: { name: string; kind: string; namespaced: boolean }[];
}

/**
 * Remembers what was found. A kind that is not remembered is asked for again, so that a CRD installed a moment
 * ago is found; what was found once is trusted, because a kind's resource and scope cannot change.
 */
export class Discovery {
  readonly #requester: Requester;
  readonly #kinds = new Map<string, AnyKind>();
  #aggregated: boolean | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  async find(apiVersion: string, kind: string, options: RequestOptions = {}): Promise<AnyKind> {
    const { group, version } = parseApiVersion(apiVersion);
    const key = `${apiVersion}/${kind}`;
    const known = this.#kinds.get(key);
    if (known) return known;
    if (this.#aggregated !== false) await this.#refresh();
    if (this.#aggregated === false) await this.#readVersion(group, version, options);
    const found = this.#kinds.get(key);
    if (found) return found;
    throw new ClientError(
      "KindUnknown",
      `the server has no ${groupKind({ group, kind })} in version ${version}; is its CustomResourceDefinition installed and established?`,
    );
  }

  /** All callers that miss at the same time share one read. */
  async #refresh(): Promise<void> {
    this.#refreshing ??= this.#readAll().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  async #readAll(): Promise<void> {
    const roots = await Promise.all(
      ["/api", "/apis"].map(async (path) => {
        const answer = await this.#requester.json({
          doing: `discover the kinds under ${path}`,
          method: "GET",
          path,
          accept: aggregatedAccept,
        });
        return answer as { kind?: string; items?: GroupDiscovery[] };
      }),
    );
    this.#aggregated = roots.every((root) => root.kind === "APIGroupDiscoveryList");
    if (!this.#aggregated) return;
    for (const group of roots.flatMap((root) => root.items ?? [])) this.#remember(group);
  }

  #remember(group: GroupDiscovery): void {
    const name = group.metadata?.name ?? "";
    for (const { version, resources } of group.versions ?? []) {
      for (const { resource, responseKind, scope } of resources ?? []) {
        if (responseKind?.kind && scope) this.#add(name, version, responseKind.kind, resource, scope);
      }
    }
  }

  /** The form of servers before 1.30: one document per group version. */
  async #readVersion(group: string, version: string, options: RequestOptions): Promise<void> {
    const path = group ? `/apis/${group}/${version}` : `/api/${version}`;
    try {
      const answer = (await this.#requester.json({
        doing: `discover the kinds under ${path}`,
        method: "GET",
        path,
        signal: options.signal,
        timeoutMs: options.timeoutMs,
      })) as ResourceList;
      for (const { name, kind, namespaced } of answer.resources ?? []) {
        if (!name.includes("/")) this.#add(group, version, kind, name, namespaced ? "Namespaced" : "Cluster");
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #add(group: string, version: string, kind: string, resource: string, scope: Scope): void {
    const apiVersion = group ? `${group}/${version}` : version;
    const found = dynamicKind({ group, version, kind, resource, scope });
    this.#kinds.set(`${apiVersion}/${kind}`, found);
    // Kinds begin with a capital and resources with none: the two never meet.
    this.#kinds.set(`${apiVersion}/${resource}`, found);
  }
}
