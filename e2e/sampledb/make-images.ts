/** Builds the operator's image ahead of the rows: `node --conditions=keelson-source e2e/sampledb/make-images.ts`. */
import { makeOperatorImages } from "../operator/images.ts";
import { operatorImages, project } from "./images.ts";

await makeOperatorImages(project, operatorImages, (sentence) => console.error(sentence));
