/** Four Services: for writers, for readers, for any instance, and the names of the instances. */
import type { Desired } from "keelson";
import type { Service } from "keelson/kinds";
import { labels } from "../api/names.ts";
import { type DatabaseName, instancesService, postgresPort, selectorLabels } from "./names.ts";

type Selected = "primary" | "replica" | undefined;

function service(database: DatabaseName, name: string, role: Selected): Desired<typeof Service> {
  return {
    metadata: { name, labels: selectorLabels(database) },
    spec: {
      selector: { ...selectorLabels(database), ...(role && { [labels.role]: role }) },
      ports: [{ name: "postgresql", port: postgresPort, targetPort: postgresPort }],
    },
  };
}

/** Of all that may be there, the pooler's included. */
export const serviceKeys = ["rw", "ro", "r", "pooler", "poolers"] as const;

/** An orphan that no status knows is found by its name. */
export function serviceName(
  { metadata }: { readonly metadata: { readonly name: string } },
  key: string,
): string {
  return key === "rw" ? metadata.name : `${metadata.name}-${key}`;
}

export function readWriteService(database: DatabaseName): Desired<typeof Service> {
  return service(database, database.name, "primary");
}

export function readOnlyService(database: DatabaseName): Desired<typeof Service> {
  return service(database, `${database.name}-ro`, "replica");
}

export function anyService(database: DatabaseName): Desired<typeof Service> {
  return service(database, `${database.name}-r`, undefined);
}

/** Instances must find each other before anyone is ready. */
export function namesService(database: DatabaseName): Desired<typeof Service> {
  return {
    metadata: { name: instancesService(database), labels: selectorLabels(database) },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: selectorLabels(database),
      ports: [{ name: "postgresql", port: postgresPort, targetPort: postgresPort }],
    },
  };
}
