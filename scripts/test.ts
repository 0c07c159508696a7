/** `npm test`: all tests from source, and a summary that hides nothing. */
import { run } from "./run.ts";

process.exitCode = await run("vitest", ["run", ...process.argv.slice(2)]);
