/** Runs the operator. */
import { guards } from "./index.ts";

await guards.run();
