/** The `keelson` command, and the parts of it that programs use. */
export { type BuildOptions, buildImage } from "./build/build-image.ts";
export { CliError, type CliErrorCode } from "./errors.ts";
export { type ManifestOptions, manifestsFor } from "./generate/manifests.ts";
export { main } from "./main.ts";
export { loadOperator, type OperatorParts, type Project, readProject } from "./project.ts";
