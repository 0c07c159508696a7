/** A form in which objects leave the server; YAML is made of JSON at the very end. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { Pieces } from "../messages/message.ts";
import type { Turns } from "../messages/turns.ts";
import type { ApiResource } from "../registry/api-resource.ts";

export interface Form {
  readonly name: string;
  /** The media type of a watch in this form. */
  readonly streamType: string;
  object(resource: ApiResource, version: string, object: ApiObject): Pieces;
  /** Others have their turn while a long list is made. */
  list(
    resource: ApiResource,
    version: string,
    metadata: JsonObject,
    items: readonly ApiObject[],
    turns: Turns,
  ): Promise<Pieces>;
  /** A value that names its own kind. */
  value(value: JsonObject): Pieces;
  /** An event of a watch around an encoded object. */
  frame(type: string, object: Pieces): Buffer;
}
