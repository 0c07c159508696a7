/** All that storage needs: binding, provisioning, protection, and a class to begin with. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RawController } from "@keelson/runtime";
import { volumeBinder } from "./binder-controller.ts";
import { defaultClassInstaller } from "./default-class.ts";
import { ephemeralVolumeController } from "./ephemeral-claims.ts";
import { localVolumeProvisioner } from "./local-provisioner.ts";
import {
  attributesProtectionController,
  claimProtectionController,
  volumeProtectionController,
} from "./protection-controllers.ts";

export interface VolumeControllersOptions {
  /** Where volumes are made, on the machine that runs the nodes. Default: in the system's temporary directory. */
  readonly directory?: string;
  /** Removes a directory with all that is in it. Default: from this process. */
  readonly remove?: (path: string) => Promise<void>;
}

export function volumeControllers({
  directory = join(tmpdir(), "keelson-volumes"),
  remove,
}: VolumeControllersOptions = {}): RawController[] {
  return [
    defaultClassInstaller(),
    volumeBinder(),
    localVolumeProvisioner({ directory, ...(remove === undefined ? {} : { remove }) }),
    claimProtectionController(),
    volumeProtectionController(),
    attributesProtectionController(),
    ephemeralVolumeController(),
  ];
}
