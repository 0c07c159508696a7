/** The role that is generated: no wildcard, and nothing that no scenario uses. */
import { type Cluster, cluster } from "@keelson/testing";
import { type Controller, roleFor } from "keelson";
import { expect, it } from "vitest";
import { EtcdBackupSchedule } from "../src/api/backup.ts";
import { EtcdCluster } from "../src/api/cluster.ts";
import { controllers } from "../src/controllers.ts";
import { etcdCluster } from "../src/reconcile.ts";
import { etcdBackup } from "../src/reconcile-backup.ts";
import { etcdBackupSchedule } from "../src/reconcile-schedule.ts";
import { PodRunner } from "./backup/pod-runner.ts";
import { createSecured, finalBackup, settingsChanged } from "./scenarios.ts";
import type { Scenario } from "./simulation/explore.ts";
import { World } from "./simulation/world.ts";

it("the role has no wildcard", () => {
  const rules = roleFor(controllers, { lease: "etcd-operator" });
  expect(JSON.stringify(rules)).not.toContain("*");
  expect(rules.every(({ verbs }) => !verbs.includes("deletecollection"))).toBe(true);
});

/** Leases belong to the runtime, and there is no election with a single manager; an event is patched when it repeats. */
const ofTheRuntime = /leases\.coordination|^patch events\./;

/**
 * What one permission brings along, by the rules of the API server: a cache is kept by get, list and watch, whichever
 * its server offers; to apply what is not there asks for create; to block an owner's deletion asks for update of its
 * finalizers.
 */
function impliedBy(permission: string, used: (permission: string) => boolean): boolean {
  const [verb, resource = ""] = permission.split(" ");
  if (verb === "get" || verb === "list") return used(`watch ${resource}`);
  if (verb === "create") return used(`patch ${resource}`);
  const [, owner, group] = /^(.+)\/finalizers\.(.*)$/.exec(resource) ?? [];
  return verb === "update" && owner !== undefined && used(`patch ${owner}/status.${group}`);
}

it("the role grants nothing that no scenario uses", { timeout: 300_000 }, async () => {
  const granted = permissionsOf(controllers);
  const used = new Set<string>();
  const learn = (of: readonly Controller[], unused: readonly string[]) => {
    const left = new Set(unused);
    for (const permission of permissionsOf(of)) if (!left.has(permission)) used.add(permission);
  };
  for (const scenario of [securedAndShrunk, settingsChanged, finalBackup]) {
    await using world = await World.start();
    await scenario.prepare?.(world);
    await scenario.play(world);
    learn([etcdCluster()], world.cluster.unusedPermissions);
  }
  await withBackups((c) => learn(backupControllers, c.unusedPermissions));
  const idle = granted.filter(
    (each) => !used.has(each) && !impliedBy(each, (other) => used.has(other)) && !ofTheRuntime.test(each),
  );
  expect(idle).toEqual([]);
});

function permissionsOf(of: readonly Controller[]): string[] {
  return roleFor(of, { lease: "test" }).flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((each) => verbs.map((verb) => `${verb} ${each}.${group}`)),
    ),
  );
}

const securedAndShrunk: Scenario = {
  prepare: createSecured.play,
  play: async (world) => {
    await world.change({ size: 1 });
    await world.settles(1);
  },
};

const backupControllers = [etcdBackup({ agentImage: "operator:1" }), etcdBackupSchedule()];

async function withBackups(look: (c: Cluster) => void): Promise<void> {
  await using c = await cluster({ controllers: backupControllers, resources: [EtcdCluster] });
  const runner = new PodRunner();
  await using _ = await runner.start(c.client, c.clock, c.random);
  const namespace = "default";
  const made = await c.client
    .kind(EtcdCluster)
    .create({ metadata: { namespace, name: "prod" }, spec: { version: "3.6.16" } });
  const members = [{ name: "prod-0", phase: "Voter" as const }];
  await c.client
    .kind(EtcdCluster)
    .subresource("status")
    .update({ ...made, status: { clusterId: "ff", members } } as never);
  const store = { s3: { endpoint: "http://s3", bucket: "b", credentialsSecret: "s3" } };
  await c.client.kind(EtcdBackupSchedule).create({
    metadata: { namespace, name: "hourly" },
    spec: { cluster: "prod", schedule: "30 * * * *", store, keep: { count: 1 } },
  } as never);
  await c.advance(3 * 3_600_000);
  look(c);
}
