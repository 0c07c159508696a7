/** Runs the database operator. */
import { operator } from "keelson";
import { controllers, metrics } from "./controllers.ts";

await operator({ name: "database-operator", controllers, collect: () => metrics.families() }).run();
