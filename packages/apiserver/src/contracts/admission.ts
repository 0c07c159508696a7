/** What may still change or refuse a write: the contract of admission plug-ins. */
import type { JsonObject } from "@keelson/core";
import type { UserInfo } from "./authentication.ts";
import type { ApiObject } from "./object.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface AdmissionRequest {
  readonly operation: Operation;
  /** Of the version in the request's path, as of `object`. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  /** Empty for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions with kind and apiVersion; absent on CONNECT. */
  readonly options: JsonObject | undefined;
  /** The new object, absent on DELETE. A mutating plug-in changes it in place or assigns another. */
  object: ApiObject | undefined;
  /** The stored object, frozen; absent on CREATE. */
  readonly oldObject: ApiObject | undefined;
  /** Adds a Warning header to the answer. */
  warn(text: string): void;
  readonly signal?: AbortSignal;
}

export interface AdmissionPlugin {
  /** As in --enable-admission-plugins: `NamespaceLifecycle`. */
  readonly name: string;
  /** Mutating phase; runs before validation of the object. */
  admit?(request: AdmissionRequest): Promise<void> | void;
  /** Validating phase; the object is final and must not be changed. */
  validate?(request: AdmissionRequest): Promise<void> | void;
}
