/** What our own packages need of this one; not part of the public API. */
export { linkApplets, makeDebianBase, makeSkeleton } from "./base-root.ts";
export { fetchPackages, findOnPath, unpackPackages } from "./debian.ts";
export { emptyConfig } from "./image.ts";
export { MadeImages, recipeFor } from "./made-images.ts";
export { locateProgram } from "./programs.ts";
export { scriptDependencies } from "./recipes.ts";
export { RootDirectory } from "./root-directory.ts";
export { locate, type RootView, resolveInside } from "./root-path.ts";
export { type TarFile, writeTar } from "./tar-write.ts";
