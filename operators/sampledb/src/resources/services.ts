/** Three Services: one that names every server, one for writes, one for reads. */
import type { Desired } from "keelson";
import type { Service } from "keelson/kinds";
import { labels } from "../api/names.ts";
import { redisPort } from "../engine/redis.ts";
import { adoptable, type DatabaseName, objectNames, selectorLabels } from "./names.ts";

const ports = [{ name: "redis", port: redisPort, targetPort: redisPort }];

export function serversService(database: DatabaseName): Desired<typeof Service> {
  return {
    metadata: { name: objectNames(database).servers, labels: selectorLabels(database) },
    spec: { clusterIP: "None", publishNotReadyAddresses: true, selector: selectorLabels(database), ports },
  };
}

/** While `open` is false nobody is behind it: clients wait or retry, and no write gets through. */
export function writesService(database: DatabaseName, open: boolean): Desired<typeof Service> {
  return {
    metadata: {
      name: objectNames(database).writes,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: {
      selector: { ...selectorLabels(database), [labels.role]: open ? "primary" : "none" },
      ports,
    },
  };
}

export function readsService(database: DatabaseName): Desired<typeof Service> {
  return {
    metadata: {
      name: objectNames(database).reads,
      labels: selectorLabels(database),
      annotations: adoptable(database),
    },
    spec: { selector: { ...selectorLabels(database), [labels.read]: "true" }, ports },
  };
}
