/** Resources that are answered and not stored. */
import type { HttpHeaders } from "@keelson/core";
import type { UserInfo } from "./authentication.ts";
import type { ApiObject } from "./object.ts";

/** A resource that is answered, not stored: reviews, token requests. */
export interface VirtualResource {
  /** Answers a POST with the object to return, 201. */
  create(object: ApiObject, request: VirtualRequest): Promise<ApiObject> | ApiObject;
}

export interface VirtualRequest {
  readonly user: UserInfo;
  readonly namespace: string;
  /** The parent's name for subresources such as serviceaccounts/token; empty otherwise. */
  readonly name: string;
  readonly dryRun: boolean;
  readonly headers: HttpHeaders;
  /** Adds a Warning header to the answer. */
  warn(text: string): void;
}
