/** The operator of the guide: importing it starts nothing. */
import { operator } from "keelson";
import { cache } from "./compose.ts";

export const app = operator({ name: "cache-operator", controllers: [cache] });
