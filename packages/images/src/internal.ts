/** What our own packages need of this one; not part of the public API. */
export { findOnPath } from "./debian.ts";
export { emptyConfig } from "./image.ts";
export { MadeImages, recipeFor } from "./made-images.ts";
export { locateProgram } from "./programs.ts";
export { locate, type RootView, resolveInside } from "./root-path.ts";
export { type TarFile, writeTar } from "./tar-write.ts";
