/** The shapes of the generated tables, as short as they can be written. */

export interface DefinitionPackageFacts {
  /** `io.k8s.api.apps.v1`. */
  readonly name: string;
  /** What references call it: its last two parts. */
  readonly alias: string;
  /** Group-version of its kinds, empty when it has none. */
  readonly groupVersion: string;
  /** See notation.ts. */
  readonly text: string;
}

export interface GroupVersionFacts {
  readonly group: string;
  readonly version: string;
  /** Package of its kinds' definitions. */
  readonly package: string;
  readonly groupPriority?: number;
  readonly versionPriority?: number;
  readonly resources: readonly ResourceFacts[];
}

export interface ResourceFacts {
  readonly name: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Absent for the eight ordinary ones. */
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
  /** Absent when it is the resource's own. */
  readonly storageVersion?: string;
  readonly deleteReturnsObject?: true;
  readonly subresources?: readonly SubresourceFacts[];
}

export interface SubresourceFacts {
  readonly name: string;
  /** Absent when it is the resource's own. */
  readonly kind?: string;
  /** Of the kind, absent when it is the resource's own. */
  readonly groupVersion?: string;
  readonly verbs: readonly string[];
}

/** Name, type, format (empty when left out) and priority (0 when left out). */
export type ColumnFacts = readonly [name: string, type: string, format?: string, priority?: number];

export interface ListFacts {
  readonly columns: readonly ColumnFacts[];
  /** Fields to select by; absent when they are name and namespace. */
  readonly selectors?: readonly string[];
  /** The message about any other field; `?` stands for the field. */
  readonly refusal: string;
}

export interface RoleFacts {
  readonly name: string;
  /** Absent for a ClusterRole. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** `verbs groups resources [names]`, or `verbs urls`; `-` is the core group. */
  readonly rules?: readonly string[];
  /** Labels of the roles it gathers its rules from. */
  readonly aggregates?: readonly string[];
}

export interface BindingFacts {
  readonly name: string;
  /** Absent for a ClusterRoleBinding. */
  readonly namespace?: string;
  /** Kind and name. */
  readonly role: string;
  /** Kind and name, or kind and namespace/name. */
  readonly subjects: readonly string[];
}
