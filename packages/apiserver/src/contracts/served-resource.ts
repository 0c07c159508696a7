/** A resource as discovery shows it. */

/** A resource as it is served: one entry of discovery. */
export interface ServedResource {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Served versions, preferred first. */
  readonly versions: readonly string[];
  readonly storageVersion: string;
  readonly custom: boolean;
}
