/** The template "database": a server with a password and a volume, and backups on a schedule, on the kit. */
import type { ApiNames } from "./names.ts";

export const databaseSpec = {
  fields: `  spec: z.object({
    version: z
      .string()
      .regex(/^\\d+\\.\\d+$/)
      .max(16)
      .default("7.0")
      .describe("The release of Redis."),
    storage: quantity().default("1Gi").describe("How large its volume is, and that of its backups."),
    backup: z
      .object({
        schedule: z.string().min(1).max(64).default("0 2 * * *").describe("When: a cron expression."),
        keep: z.int().min(1).max(100).default(7).describe("How many backups stay."),
      })
      .default({ schedule: "0 2 * * *", keep: 7 })
      .describe("Backups, in a volume of their own."),
  }),
  status: z.object({
    lastScheduled: z.string().optional().describe("When the last backup was due."),
    backups: z.int().optional().describe("Backups that can be restored."),
  }),
  columns: { Version: ".spec.version", Backups: ".status.backups" },
`,
  example: '  version: "7.0"\n  backup:\n    schedule: "*/15 * * * *"\n',
};

export function databaseController({ controller, kind }: ApiNames): string {
  return `/** What a ${kind} becomes: a Redis server with a password and a volume, and a Job for each backup. */
import { backupStamp, decideSchedule, expiredBackups, restrictedContainer, restrictedPod } from "@keelson/kit";
import { controller, type Desired, done, fail, many, type ObjectOf, waiting } from "keelson";
import { Job, PersistentVolumeClaim, Secret, Service, StatefulSet } from "keelson/kinds";
import { ${kind} } from "./api.ts";

type Instance = ObjectOf<typeof ${kind}>;

const PORT = 6379;
/** The user of the image. */
const REDIS = 999;

export const ${controller} = controller(${kind}, {
  owns: {
    password: Secret,
    service: Service,
    server: StatefulSet,
    store: PersistentVolumeClaim,
    backups: many(Job),
  },

  async reconcile(object, ctx) {
    const { own } = ctx;
    // Made once: what is there stays over a restart.
    const password = own.password.get()?.data?.password ?? Buffer.from(ctx.random.bytes(24)).toString("base64");
    await own.password.apply({ data: { password } });
    await own.service.apply({ spec: { clusterIP: "None", selector: labelsOf(object), ports: [{ port: PORT }] } });
    await own.store.apply(storeFor(object));
    const server = await own.server.apply(serverFor(object));

    const state = {
      timeZone: "UTC",
      schedule: object.spec.backup.schedule,
      suspend: (server.status?.readyReplicas ?? 0) === 0,
      createdAt: object.metadata.creationTimestamp,
      lastScheduled: object.status?.lastScheduled,
      running: own.backups.list().some((job) => stateOf(job) === "running"),
    };
    const decision = decideSchedule(state, (expression, options) => ctx.cron(expression, options));
    if (decision.do === "invalid") return fail("ScheduleInvalid", decision.message);
    if (decision.do === "take") {
      const stamp = backupStamp(decision.at);
      await own.backups.apply(stamp, backupFor(object, stamp));
    }
    const backups = [...own.backups.entries()].map(([key, job]) => ({
      key,
      state: stateOf(job),
      takenMs: Date.parse(job.metadata.creationTimestamp),
    }));
    for (const key of expiredBackups(backups, { count: object.spec.backup.keep }, ctx.clock.now())) {
      await own.backups.delete(key);
    }
    ctx.setStatus({
      backups: backups.filter(({ state }) => state === "good").length,
      ...(decision.lastScheduled === undefined ? {} : { lastScheduled: decision.lastScheduled }),
    });
    return state.suspend ? waiting("ServerStarting", "the server does not answer yet") : done();
  },
});

const labelsOf = ({ metadata }: Instance) => ({ app: metadata.name });

function stateOf({ status }: ObjectOf<typeof Job>): "running" | "good" | "failed" {
  const holds = (type: string) => status?.conditions?.some((each) => each.type === type && each.status === "True");
  return holds("Complete") ? "good" : holds("Failed") ? "failed" : "running";
}

function claimOf({ spec }: Instance): NonNullable<Desired<typeof PersistentVolumeClaim>["spec"]> {
  return { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: spec.storage } } };
}

function storeFor(object: Instance): Desired<typeof PersistentVolumeClaim> {
  return { metadata: { name: \`\${object.metadata.name}-backups\` }, spec: claimOf(object) };
}

/** Both containers know the password by their environment, where no list of processes shows it. */
const containerOf = ({ metadata, spec }: Instance, script: string) => ({
  image: \`redis:\${spec.version}\`,
  command: ["sh", "-c", script],
  env: [{ name: "REDISCLI_AUTH", valueFrom: { secretKeyRef: { name: metadata.name, key: "password" } } }],
  securityContext: restrictedContainer,
});

/** Its volume outlives it, as that of every StatefulSet does: a ${kind} that was deleted can be made again with its data. */
function serverFor(object: Instance): Desired<typeof StatefulSet> {
  const labels = labelsOf(object);
  const configure = 'umask 077; echo "requirepass $REDISCLI_AUTH" > /data/redis.conf';
  const script = \`\${configure} && exec redis-server /data/redis.conf --dir /data --appendonly yes\`;
  const server = {
    ...containerOf(object, script),
    name: "redis",
    ports: [{ containerPort: PORT }],
    volumeMounts: [{ name: "data", mountPath: "/data" }],
    readinessProbe: { exec: { command: ["redis-cli", "ping"] }, periodSeconds: 2 },
  };
  return {
    spec: {
      serviceName: object.metadata.name,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { securityContext: restrictedPod(REDIS), containers: [server] } },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimOf(object) }],
    },
  };
}

/** A file appears in the store whole or not at all; the oldest go. */
function backupFor(object: Instance, stamp: string): Desired<typeof Job> {
  const { name } = object.metadata;
  const file = \`/backups/\${stamp}.rdb\`;
  const take = \`redis-cli -h \${name} --rdb \${file}.part && redis-check-rdb \${file}.part && mv \${file}.part \${file}\`;
  const prune = \`ls -1 /backups/*.rdb | head -n -\${object.spec.backup.keep} | xargs -r rm\`;
  const container = {
    ...containerOf(object, \`\${take} && \${prune}\`),
    name: "backup",
    volumeMounts: [{ name: "backups", mountPath: "/backups" }],
  };
  const volumes = [{ name: "backups", persistentVolumeClaim: { claimName: \`\${name}-backups\` } }];
  return {
    metadata: { name: \`\${name}-\${stamp}\` },
    spec: {
      backoffLimit: 2,
      activeDeadlineSeconds: 600,
      template: {
        spec: { restartPolicy: "Never", securityContext: restrictedPod(REDIS), containers: [container], volumes },
      },
    },
  };
}
`;
}

export function databaseTest({ controller, folder, kind }: ApiNames): string {
  return `/** What is promised of a ${kind}. */
import { cluster, everyCrash } from "@keelson/testing";
import { Job, Secret, StatefulSet } from "keelson/kinds";
import { expect, test } from "vitest";
import { ${kind} } from "../src/${folder}/api.ts";
import { ${controller} } from "../src/${folder}/controller.ts";

const controllers = [${controller}];
const here = { namespace: "default", name: "example" };
const spec = (schedule: string) => ({ backup: { schedule, keep: 2 } });

test("runs a server and takes backups on time, of which the newest stay", async () => {
  await using c = await cluster({ controllers, workloads: true });
  const examples = c.client.kind(${kind});
  await examples.create({ metadata: here, spec: spec("*/5 * * * *") });
  await c.converges();
  await c.advance(16 * 60_000);
  await c.until(async () => (await examples.get(here)).status?.backups === 2);
  expect((await c.client.kind(Job).list()).items).toHaveLength(2);
});

test("says what is wrong with its schedule", async () => {
  await using c = await cluster({ controllers });
  await c.client.kind(${kind}).create({ metadata: here, spec: spec("at noon") });
  await c.converges({ ready: false });
  const { status } = await c.client.kind(${kind}).get(here);
  expect(status?.conditions?.find(({ type }) => type === "Stalled")?.reason).toBe("ScheduleInvalid");
});

test("keeps its password and leaves nothing half done, whenever its manager dies", async () => {
  await everyCrash({ controllers }, async (c) => {
    await c.client.kind(${kind}).create({ metadata: here, spec: spec("0 2 * * *") });
    await c.converges({ ready: false });
    const { data } = await c.client.kind(Secret).get(here);
    c.crash();
    await c.converges({ ready: false });
    expect((await c.client.kind(Secret).get(here)).data).toEqual(data);
    expect((await c.client.kind(StatefulSet).get(here)).spec?.serviceName).toBe("example");
  });
});
`;
}
