/** Runs every ResourceGraphDefinition of the cluster: what `keelson install` puts there. */
import { operator } from "@keelson/runtime";
import { graphs } from "./definitions/controller.ts";

await operator({ name: process.env.OPERATOR_NAME ?? "graphs", controllers: [graphs()] }).run();
