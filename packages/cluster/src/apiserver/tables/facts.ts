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
