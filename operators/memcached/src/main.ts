/** Runs the Memcached operator. */
import { operator } from "keelson";
import { memcached } from "./controller.ts";

await operator({ name: "memcached-operator", controllers: [memcached] }).run();
