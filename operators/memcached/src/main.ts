/** Runs the Memcached operator. */
import { app } from "./index.ts";

await app.run();
