/** The controllers and the scheduler of the embedded cluster. */
export {
  type BuiltinControllersOptions,
  builtinControllers,
  type StartControllersOptions,
  startControllers,
} from "./builtin-controllers.ts";
export { localVolumeProvisioner } from "./volumes/local-provisioner.ts";
