/** What the Memcached operator is made of. Importing it starts nothing: main.ts runs it. */
import { operator } from "keelson";
import { memcached } from "./controller.ts";

export { Memcached } from "./api.ts";
export { memcached };

/** Its name is that of its Lease and of everything that `keelson generate` installs. */
export const app = operator({ name: "memcached-operator", controllers: [memcached] });
