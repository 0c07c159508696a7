/** Where the agent comes from: the operator's own image, which carries it. */
import { extname, join, relative } from "node:path";

/** The variable that names the image of the operator, set by its Deployment. */
export const imageVariable = "OPERATOR_IMAGE";

/** Relative to the image's working directory, which is the package's root as it is here. */
const module = relative(
  join(import.meta.dirname, "../.."),
  join(import.meta.dirname, "../agent", `main${extname(import.meta.filename)}`),
);

export const agentCommand: readonly string[] = ["node", module];

export function operatorImage(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const image = env[imageVariable];
  return image === "" ? undefined : image;
}
