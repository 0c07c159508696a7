/** Where the agent comes from: the operator's own image, which carries it. */
import { extname, join, relative } from "node:path";

/** Relative to the image's working directory, which is the package's root as it is here. */
const module = relative(
  join(import.meta.dirname, "../.."),
  join(import.meta.dirname, "../agent", `install${extname(import.meta.filename)}`),
);

export const installCommand: readonly string[] = ["node", module];

/** The variable is set by the operator's Deployment. */
export function operatorImage(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env["OPERATOR_IMAGE"] || undefined;
}
