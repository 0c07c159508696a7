/** All that storage needs: binding, provisioning, protection, and a class to begin with. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RawController } from "@keelson/runtime";
import { volumeBinder } from "./binder-controller.ts";
import { defaultClassInstaller } from "./default-class.ts";
import { ephemeralVolumeController } from "./ephemeral-claims.ts";
import { localVolumeProvisioner } from "./local-provisioner.ts";
import { claimProtectionController, volumeProtectionController } from "./protection-controllers.ts";

export interface VolumeControllersOptions {
  /** Where volumes are made, on the machine that runs the nodes; in the system's temporary directory unless told. */
  readonly directory?: string;
}

export function volumeControllers({
  directory = join(tmpdir(), "keelson-volumes"),
}: VolumeControllersOptions = {}): RawController[] {
  return [
    defaultClassInstaller(),
    volumeBinder(),
    localVolumeProvisioner({ directory }),
    claimProtectionController(),
    volumeProtectionController(),
    ephemeralVolumeController(),
  ];
}
