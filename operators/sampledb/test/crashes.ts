/** What `npm run crashes -- --operator sampledb` plays. */
import * as journeys from "./scenarios.ts";

process.env["OPERATOR_IMAGE"] = "sampledb-operator:test";

export { everyCrash } from "./simulation/crashes.ts";
export { journeys };
