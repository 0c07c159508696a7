/** What every object inside the server is. */
import type { JsonObject } from "@keelson/core";

/** An object of any kind inside the server. Stored ones are frozen; drafts under construction are not. */
export type ApiObject = JsonObject & { metadata: ApiMeta };

export type ApiMeta = JsonObject & {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
  finalizers?: string[];
};
