/** Runs the guide's operator against the cluster that the environment names. */
import { app } from "./app.ts";

await app.run();
