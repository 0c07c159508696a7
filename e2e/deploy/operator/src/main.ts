/** Runs the operator: what its image starts. */
import { app } from "./index.ts";

await app.run();
