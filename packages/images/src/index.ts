/** Images and programs: where root file systems and server binaries come from. */
export { ImageError, type ImageErrorCode } from "./errors.ts";
export type { ImageConfig, ImageOrigin, ResolvedImage } from "./image.ts";
export { ImageStore, type ImageStoreOptions, type Pruned, type StoredImage } from "./image-store.ts";
export { Images, type ImagesOptions } from "./images.ts";
export { type LoadedImage, type LoadOptions, loadImages } from "./load.ts";
export { type LocateOptions, locateProgram, type Program, type ProgramName } from "./programs.ts";
export { type PushOptions, pushImage } from "./push.ts";
export {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  repositoryName,
} from "./reference.ts";
export { type PullOptions, pullImage } from "./registry.ts";
export { type RegistryServer, type RegistryServerOptions, startRegistry } from "./registry-server.ts";
export type { RegistryCredential, SessionOptions } from "./registry-session.ts";
