/** The program: it runs against the cluster that the environment names. */
import { operator } from "keelson";
import { cache } from "./compose.ts";

await operator({ name: "cache-operator", controllers: [cache] }).run();
