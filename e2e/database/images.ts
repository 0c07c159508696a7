/** The operator of Database, and its image under two tags: as installed, and as upgraded to. */
import { join } from "node:path";
import { readProject } from "@keelson/cli";

export const project = readProject(join(import.meta.dirname, "../../operators/database"));
export const operatorImages = ["keelson-e2e/database-operator:1", "keelson-e2e/database-operator:2"] as const;
