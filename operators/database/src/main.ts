/** Runs the database operator. */
import { operator } from "keelson";
import { controllers } from "./controllers.ts";

await operator({ name: "database-operator", controllers }).run();
