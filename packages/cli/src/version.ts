/** The version of the command, which is the version of all packages. */
import manifest from "../package.json" with { type: "json" };

export const version: string = manifest.version;
