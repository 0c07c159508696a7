/** The class of volumes that can grow, by the name that explored scenarios have for it. */
import type { Client } from "@keelson/client";
import { StorageClass } from "keelson/kinds";

export async function makeGrowingClass(client: Client): Promise<void> {
  await client.kind(StorageClass).create({
    metadata: { name: "growing" },
    provisioner: "keelson.dev/local",
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    allowVolumeExpansion: true,
  });
}
