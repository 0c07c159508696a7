/** Database on paper: PostgreSQL with replicas. Agents in the pods own safety, the controller owns policy. */
import { allow, controller, done, many, ref, waiting } from "@keelson/runtime";
import { quantity, resource } from "@keelson/schema";
import { z } from "zod";
import { Lease, PersistentVolumeClaim, Pod, Secret, Service } from "./kinds.ts";

export const Database = resource({
  group: "database.keelson.dev",
  kind: "Database",
  version: "v1",
  spec: z.object({
    instances: z.int().min(1).max(9).default(3),
    version: z.string(),
    storage: quantity(),
    superuserSecret: z.string(),
    synchronous: z.int().min(0).default(1),
  }),
  status: z.object({
    primary: z.string().optional(),
    epoch: z.int().optional(),
    systemId: z.string().optional(),
    timeline: z.int().optional(),
    instances: z.array(z.object({ name: z.string(), role: z.string(), lsn: z.string() })).optional(),
  }),
});

interface Instance {
  readonly name: string;
  readonly reachable: boolean;
  readonly role: "primary" | "replica" | "unknown";
  readonly systemId: string;
  readonly timeline: number;
  readonly receivedLsn: string;
  readonly receiving: boolean;
}
declare const desired: {
  claim(db: object, name: string): object;
  pod(db: object, name: string, role: "primary" | "replica"): object;
  service(db: object, holder: string): object;
};
declare const agent: {
  status(at: { host: string; port: number }): Promise<Instance>;
  /** Stops receiving and reports where it stands; safe to repeat. */
  freeze(at: { host: string; port: number }, epoch: number): Promise<Instance>;
  promote(at: { host: string; port: number }, epoch: number): Promise<void>;
};
declare function electable(
  frozen: readonly Instance[],
  quorum: number,
): Instance | { missing: readonly string[] };

export const database = controller(Database, {
  owns: { claims: many(PersistentVolumeClaim, { outlives: true }), pods: many(Pod), write: Service },
  reads: { password: ref(Secret, (db) => ({ name: db.spec.superuserSecret })) },
  writes: [allow(Lease, ["get", "update"])],

  async reconcile(db, ctx) {
    if (!ctx.read.password)
      return waiting("SecretMissing", `Secret ${db.spec.superuserSecret} does not exist`);
    const names = Array.from({ length: db.spec.instances }, (_, index) => `${db.metadata.name}-${index}`);
    const primary = db.status?.primary ?? names[0] ?? "";
    for (const name of names) {
      await ctx.own.claims.apply(name, desired.claim(db, name));
      await ctx.own.pods.apply(name, desired.pod(db, name, name === primary ? "primary" : "replica"));
    }
    const instances = await Promise.all(names.map((name) => ask(name, agent.status)));
    const lead = instances.find((instance) => instance.name === primary);
    if (lead?.reachable && lead.role === "primary") {
      await ctx.own.write.apply(desired.service(db, primary));
      ctx.setStatus({
        primary,
        epoch: db.status?.epoch ?? 1,
        systemId: lead.systemId,
        timeline: lead.timeline,
      });
      const streaming = instances.filter((instance) => instance.receiving).length;
      return streaming + 1 === names.length
        ? done({ recheckMs: 5_000 })
        : waiting("Joining", "replicas are joining");
    }

    // The primary is gone. Its lease is the fence: nobody acts before it has run out.
    const lease = await ctx.client.kind(Lease).get({ name: db.metadata.name });
    if (lease.spec?.holderIdentity === primary) {
      return waiting("PrimaryLost", `${primary} does not answer; its lease has not run out`, {
        recheckMs: 1_000,
      });
    }
    const epoch = (lease.spec?.leaseTransitions ?? 0) + 1;
    const frozen = await ctx.step(`failover/${epoch}/freeze`, async () => {
      const answers = await Promise.all(names.map((name) => ask(name, (at) => agent.freeze(at, epoch))));
      return answers.map((answer) => ({ ...answer }));
    });
    const elected = electable(frozen, db.spec.synchronous);
    if ("missing" in elected) {
      return waiting(
        "NoQuorum",
        `cannot fail over without loss: no answer from ${elected.missing.join(", ")}`,
        {
          recheckMs: 1_000,
        },
      );
    }
    await ctx.step(`failover/${epoch}/take-lease`, async () => {
      const spec = { ...lease.spec, holderIdentity: elected.name, leaseTransitions: epoch };
      await ctx.client.kind(Lease).update({ ...lease, spec }); // refused by resourceVersion when another was faster
    });
    await ctx.step(`failover/${epoch}/promote`, async () => {
      await ask(elected.name, (at) => agent.promote(at, epoch));
    });
    ctx.event("Warning", "FailedOver", `${elected.name} took over from ${primary} in epoch ${epoch}`);
    ctx.setStatus({ primary: elected.name, epoch });
    return waiting("FailingOver", `${elected.name} becomes primary`, { recheckMs: 500 });

    async function ask<T>(
      name: string,
      question: (at: { host: string; port: number }) => Promise<T>,
    ): Promise<T> {
      await using link = await ctx.connect({ pod: { name } }, 8008);
      return question(link);
    }
  },
});
