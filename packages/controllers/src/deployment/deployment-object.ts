/** A deployment as the server returns it. */
import type { ObjectOf } from "@keelson/core";
import type { Deployment } from "@keelson/core/kinds";

export type DeploymentObject = ObjectOf<typeof Deployment>;
