/** Runs the definitions of the cluster: what `keelson install` puts there. */
import { operator } from "@keelson/runtime";
import { definitionHosts, parseFamilies } from "./families.ts";

const controllers = definitionHosts(parseFamilies(process.env["KEELSON_DEFINITIONS"]));
await operator({ name: "nocode", controllers }).run();
