/** The operator of SampleDB, and its image under two tags: as installed, and as upgraded to. */
import { join } from "node:path";
import { readProject } from "@keelson/cli";

export const project = readProject(join(import.meta.dirname, "../../operators/sampledb"));
export const operatorImages = ["keelson-e2e/sampledb-operator:1", "keelson-e2e/sampledb-operator:2"] as const;
