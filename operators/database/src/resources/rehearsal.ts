/** The pod that rehearses a major upgrade on a clone, and the volume for it. */
import { restrictedContainer } from "@keelson/kit";
import type { Desired } from "keelson";
import type { PersistentVolumeClaim, Pod } from "keelson/kinds";
import { type RehearsalSettings, rehearsalVariable } from "../agent/rehearse.ts";
import type { DatabaseObject } from "../api/database.ts";
import { labels } from "../api/names.ts";
import { agentSecret, databaseName, instancesService } from "./names.ts";
import {
  installContainer,
  oldPath,
  oldProgramsContainer,
  type PodOptions,
  podSecurity,
  programsOf,
  secretsPath,
} from "./pod.ts";

const dataPath = "/var/lib/postgresql/data";

export interface RehearsalOptions extends Pick<PodOptions, "agentImage" | "installCommand"> {
  readonly name: string;
  readonly primary: string;
  readonly from: { readonly image: string; readonly major: string };
  readonly to: { readonly image: string; readonly major: string };
}

/** Other labels than instances have: no Service leads to it, and no budget counts it. */
function labelsOf(object: DatabaseObject): { [name: string]: string } {
  return { [labels.name]: "postgresql-rehearsal", [labels.instance]: object.metadata.name };
}

export function rehearsalClaim(object: DatabaseObject, name: string): Desired<typeof PersistentVolumeClaim> {
  const { size, className } = object.spec.storage;
  return {
    metadata: { name, labels: labelsOf(object) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: size } },
      ...(className === undefined ? {} : { storageClassName: className }),
    },
  };
}

export function rehearsalPod(object: DatabaseObject, options: RehearsalOptions): Desired<typeof Pod> {
  const database = databaseName(object);
  const { from, to, name } = options;
  const settings: RehearsalSettings = {
    host: `${options.primary}.${instancesService(database)}.${database.namespace}.svc`,
    programs: programsOf(to.major),
    oldPrograms: programsOf(from.major, oldPath),
    major: to.major,
    directory: dataPath,
    secrets: secretsPath,
    parameters: object.spec.parameters,
  };
  return {
    metadata: { name, labels: labelsOf(object) },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      securityContext: podSecurity,
      initContainers: [installContainer(options), oldProgramsContainer(from)],
      containers: [
        {
          name: "rehearsal",
          image: to.image,
          command: ["/keelson/node", "/keelson/agent/rehearse.ts"],
          env: [
            { name: rehearsalVariable, value: JSON.stringify(settings) },
            { name: "NODE_NO_WARNINGS", value: "1" },
          ],
          securityContext: restrictedContainer,
          volumeMounts: [
            { name: "data", mountPath: dataPath },
            { name: "agent", mountPath: "/keelson", readOnly: true },
            { name: "old", mountPath: oldPath, readOnly: true },
            { name: "secrets", mountPath: secretsPath, readOnly: true },
            { name: "tmp", mountPath: "/tmp" },
          ],
        },
      ],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: name } },
        { name: "agent", emptyDir: {} },
        { name: "old", emptyDir: {} },
        { name: "tmp", emptyDir: {} },
        { name: "secrets", secret: { secretName: agentSecret(database), defaultMode: 0o440 } },
      ],
    },
  };
}
