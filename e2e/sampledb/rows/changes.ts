/** Changes that a person asks for, while clients write. */
import { X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Reason, reasons } from "@keelson/sampledb-operator";
import { Secret } from "keelson/kinds";
import type { Bench, Run, Scenario } from "../scenario.ts";

/** Clients write on while something changes; how long they could not is measured. */
async function changed(bench: Bench, options: Parameters<Bench["disturbed"]>[0]): Promise<Run> {
  return await bench.disturbed({ withinMs: 300_000, ...options });
}

function upgrade(id: string, replicas: number, limitMs: number): Scenario {
  return {
    id,
    fault: `upgraded from Redis 7.0 to 8.0, ${replicas === 0 ? "without replicas" : "with a replica"}`,
    goal: `no writes for ≤ ${limitMs / 1_000} s`,
    runs: 3,
    fresh: true,
    spec: { replicas },
    run: async (bench) =>
      await changed(bench, {
        disturb: async () => await bench.world.change(bench.name, { version: "8.0" }),
        healed: async () => (await bench.world.get(bench.name)).status?.version?.startsWith("8.") === true,
        limits: { "longest without a write": limitMs },
        waits: replicas > 0,
      }),
  };
}

export const upgradedAlone: Scenario = upgrade("upgrade0", 0, 5_000);
export const upgraded: Scenario = upgrade("upgrade", 1, 1_000);

/** Fails on the database and not on its backup: a key that it trips over is written in between. */
const tripping = {
  version: 1,
  name: "trips",
  since: "8.0",
  script: "if redis.call('EXISTS', 'stumbling-block') == 1 then return redis.error_reply('it trips') end",
};

export const wentBack: Scenario = {
  id: "goback",
  fault: "upgrade that fails after the switch: a migration trips, and the old version is brought back",
  goal: "Redis 7.0 serves again, no acknowledged write lost",
  runs: 3,
  fresh: true,
  run: async (bench) => {
    const { world, name } = bench;
    let told = "";
    const run = await changed(bench, {
      disturb: async () => {
        await world.change(name, { version: "8.0", migrations: [tripping] });
        await bench.time(
          "the backup is taken",
          120_000,
          async () => (await world.get(name)).status?.upgrade?.phase === "Rehearsing",
        );
        await using redis = await world.logIn(await world.binding(name));
        await redis.call(["SET", "stumbling-block", "1"]);
        await bench.time(
          "it went back",
          240_000,
          async () => (await world.get(name)).status?.failedUpgrade !== undefined,
        );
        told = (await world.get(name)).status?.failedUpgrade?.message ?? "";
        await world.change(name, { version: "7.0", migrations: null });
      },
      healed: async () => (await world.get(name)).status?.version?.startsWith("7.") === true,
      limits: {},
    });
    const { status } = await world.get(name);
    const isBack = status?.servers?.every(({ version }) => version?.startsWith("7."));
    const missed = [
      ...(isBack ? [] : ["a server is not 7.0"]),
      ...(told.includes("it trips") ? [] : [`the status says: ${told}`]),
    ];
    return { ...run, missed: [...run.missed, ...missed] };
  },
};

export const rotated: Scenario = {
  id: "password",
  fault: "password rotated, and the old one ends 10 s later",
  goal: "writes with the old and with the new password throughout; then the old one is refused",
  runs: 3,
  spec: { passwordOverlapSeconds: 10 },
  run: async (bench, nth) => {
    const { world, name } = bench;
    const annotation = { "sampledb.keelson.dev/rotate-passwords": `run-${nth}-${Date.now()}` };
    const before = await world.binding(name);
    const missed: string[] = [];
    const write = async (binding: typeof before, what: string) => {
      try {
        await using redis = await world.logIn(binding, 5_000);
        await redis.call(["SET", `rotation/${what}`, nth]);
      } catch (error) {
        missed.push(`the ${what} password: ${(error as Error).message}`);
      }
    };
    const run = await changed(bench, {
      disturb: async () => {
        await world.change(name, {}, annotation);
        await bench.time("the binding has a new password", 60_000, async () => {
          await write(before, "old");
          return (await world.password(name)) !== before.password;
        });
        const after = await world.binding(name);
        // Half of the overlap, so that its end cannot come in between.
        for (const end = performance.now() + 5_000; performance.now() < end; await sleep(100)) {
          await write(before, "old");
          await write(after, "new");
        }
      },
      limits: { "longest without a write": 1_000 },
    });
    const ended = await bench.time(
      "the old password is refused",
      60_000,
      async () => !(await world.canLogIn(name, before.password)),
    );
    return {
      figures: { ...run.figures, "old password refused after another": ended },
      missed: [...run.missed, ...new Set(missed)],
    };
  },
};

/** The fingerprint of the certificate in the Secret. */
async function issued({ world, name }: Bench): Promise<string> {
  const { data } = await world.client.kind(Secret).get({ namespace: world.namespace, name: `${name}-tls` });
  return new X509Certificate(Buffer.from(data?.["tls.crt"] ?? "", "base64")).fingerprint256;
}

/** What each server presents, asked at its own address: a Service would lead to one of them. */
async function presented({ world, name }: Bench): Promise<(string | undefined)[]> {
  const binding = await world.binding(name);
  return await Promise.all(
    (await world.pods(name)).map(async ({ status }) => {
      await using redis = await world.logIn({ ...binding, ip: status?.podIP ?? "" });
      return redis.fingerprint;
    }),
  );
}

export const certificates: Scenario = {
  id: "certificate",
  fault: "the servers' certificate replaced, with TLS",
  goal: "every server presents the new one; no outage, no write lost",
  runs: 3,
  spec: { tls: {} },
  run: async (bench) => {
    const { world, name } = bench;
    const before = await issued(bench);
    return await changed(bench, {
      disturb: async () => await world.deleteSecret(`${name}-tls`),
      healed: async () => {
        const now = await issued(bench);
        return now !== before && (await presented(bench)).every((each) => each === now);
      },
      limits: { "longest without a write": 1_000 },
    });
  },
};

export const tlsSwitched: Scenario = {
  id: "tls",
  fault: "TLS switched on later, and off again",
  goal: "clients with the new binding write again in ≤ 10 s, no write lost",
  runs: 3,
  run: async (bench) => {
    const { world, name } = bench;
    const to = async (tls: object | null) =>
      await changed(bench, {
        disturb: async () => await world.change(name, { tls }),
        healed: async () => ((await world.binding(name)).authority === undefined) === (tls === null),
        limits: { "longest without a write": 10_000 },
      });
    const [on, off] = [await to({}), await to(null)];
    const longest = ({ figures }: Run) => figures["longest without a write"] ?? 0;
    return {
      figures: {
        "longest without a write": Math.max(longest(on), longest(off)),
        healed: on.figures["healed"] ?? 0,
      },
      missed: [...on.missed, ...off.missed],
    };
  },
};

export const settings: Scenario = {
  id: "settings",
  fault: "a setting that needs a restart changed, and one that does not",
  goal: "no writes for ≤ 1 s",
  runs: 3,
  run: async (bench, nth) =>
    await changed(bench, {
      disturb: async () =>
        await bench.world.change(bench.name, {
          settings: { databases: String(17 + nth), "slowlog-max-len": String(100 + nth) },
        }),
      healed: async () => (await bench.world.outdated(bench.name)) === 0,
      limits: { "longest without a write": 1_000 },
    }),
};

export const scaled: Scenario = {
  id: "scaled",
  fault: "1 → 3 → 1 replicas",
  goal: "no outage, no write lost",
  runs: 3,
  run: async (bench) => {
    const to = async (replicas: number) =>
      await changed(bench, {
        disturb: async () => await bench.world.change(bench.name, { replicas }),
        healed: async () => (await bench.world.get(bench.name)).status?.replicas === replicas,
        limits: { "longest without a write": 1_000 },
      });
    const [up, down] = [await to(3), await to(1)];
    return {
      figures: {
        ...up.figures,
        "longest without a write": Math.max(
          up.figures["longest without a write"] ?? 0,
          down.figures["longest without a write"] ?? 0,
        ),
      },
      missed: [...up.missed, ...down.missed],
    };
  },
};

export const grown: Scenario = {
  id: "storage",
  fault: "storage raised from 1Gi to 2Gi",
  goal: "volumes grow, no outage",
  runs: 3,
  fresh: true,
  run: async (bench) =>
    await changed(bench, {
      disturb: async () => await bench.world.change(bench.name, { storage: { size: "2Gi" } }),
      healed: async () => {
        const claims = await bench.world.claims(bench.name);
        return claims
          .filter(({ metadata }) => metadata.name.startsWith("data-"))
          .every(({ status }) => status?.capacity?.["storage"] === "2Gi");
      },
      limits: { "longest without a write": 1_000 },
    }),
};

interface BadSpec {
  readonly spec: object;
  readonly correction: object;
  /** What Ready says of it: its reason, and words of its message. */
  readonly reason: Reason;
  readonly words: RegExp;
}

const nowhere = { pod: { nodeSelector: { "no-such": "node" } } };
const badOnes: readonly BadSpec[] = [
  {
    spec: { image: "no-such-image" },
    correction: { image: "redis" },
    reason: reasons.rolloutFailed,
    words: /does not start: (ErrImagePull|ImagePullBackOff).*correct the spec/s,
  },
  {
    spec: { version: "6.2" },
    correction: { version: "8.0" },
    reason: reasons.versionRefused,
    words: /Redis 6\.2 is not supported/,
  },
  {
    spec: { version: "7.0" },
    correction: { version: "8.0" },
    reason: reasons.versionRefused,
    words: /cannot go back to 7\.0.*set spec\.version back to 8\.0/s,
  },
  {
    spec: { version: "10.0" },
    correction: { version: "8.0" },
    reason: reasons.versionRefused,
    words: /to 10\.0 would skip a major version/,
  },
  {
    spec: { settings: { appendonly: "no" } },
    correction: { settings: { appendonly: null } },
    reason: reasons.settingRefused,
    words: /the setting appendonly is decided by the operator; remove it/,
  },
  {
    spec: nowhere,
    correction: { pod: null },
    reason: reasons.rolloutFailed,
    words: /does not start: Unschedulable.*correct the spec/s,
  },
];

/** Each is refused with a reason and a sentence, and the correction is enough. */
export const badSpecs: Scenario = {
  id: "badspecs",
  fault:
    "bad specs (unknown image, unsupported version, downgrade, skipped major, forbidden setting, unschedulable), each corrected",
  goal: "each refused with its reason and a sentence, no server restarted, no outage, well after the correction",
  runs: 3,
  spec: { version: "8.0" },
  run: async (bench) => {
    const { world, name } = bench;
    const uids = async () =>
      (await world.pods(name))
        .map(({ metadata }) => metadata.uid)
        .sort()
        .join();
    const before = await uids();
    const run = await changed(bench, {
      disturb: async () => {
        for (const { spec, correction, reason, words } of badOnes) {
          await world.change(name, spec);
          await bench.time(
            `${JSON.stringify(spec)} is refused by ${reason} and ${words}`,
            60_000,
            async () => {
              const { status, metadata } = await world.get(name);
              const ready = status?.conditions?.find(({ type }) => type === "Ready");
              const isTold =
                ready?.status === "False" && ready.reason === reason && words.test(ready.message ?? "");
              return status?.observedGeneration === metadata.generation && isTold;
            },
          );
          await world.change(name, correction);
          await world.whenReady(name, 120_000);
        }
      },
      limits: { "longest without a write": 1_000 },
    });
    return (await uids()) === before ? run : { ...run, missed: [...run.missed, "servers were restarted"] };
  },
};

/** Written before the backup, and between the backup and the restore. */
const markers = ["marker/backed-up", "marker/later"] as const;

export const restoredInPlace: Scenario = {
  id: "inplace",
  fault: "restored in place from a backup, then back to the data that was set aside",
  goal: "the data of the backup is served, and nothing later; then again every write acknowledged before the restore",
  runs: 3,
  fresh: true,
  run: async (bench): Promise<Run> => {
    const { world, name } = bench;
    const mark = async (key: string) => {
      await using redis = await world.logIn(await world.binding(name));
      await redis.call(["SET", key, "written"]);
    };
    const marked = async () => {
      await using redis = await world.logIn(await world.binding(name));
      const values = await redis.batch(markers.map((key) => ["GET", key]));
      return markers.filter((_, index) => String(values[index]) === "written");
    };
    await bench.load.steady(60_000);
    await mark(markers[0]);
    const backup = `${name}-b`;
    await world.takeBackup(backup, name);
    await mark(markers[1]);
    // All that they wrote is set aside. What others write from now on tells how long nobody could.
    await bench.load.stop();
    const load = world.load(name, 1);
    try {
      const to = async (restoreFrom: { backup: string } | { aside: string }) => {
        await load.steady(60_000);
        const before = (await world.get(name)).status?.restore?.id;
        const since = load.now;
        // A merge would leave the other source where it is.
        const sources = { backup: null, aside: null, ...restoreFrom };
        await world.change(name, { restoreFrom: sources });
        await bench.time("restored", 120_000, async () => {
          const { status } = await world.get(name);
          const { id, phase } = status?.restore ?? {};
          return id !== before && phase === "Done" && (await world.isReady(name));
        });
        const restored = load.now - since;
        await load.steady(60_000);
        return { restored, longest: load.felt(since).longestGapMs };
      };
      const there = await to({ backup });
      const served = await marked();
      const { aside } = (await world.get(name)).status?.restore ?? {};
      if (aside === undefined) throw new Error("the status does not name the data that was set aside");
      const back = await to({ aside });
      const again = await marked();
      return {
        figures: {
          "longest without a write": Math.max(there.longest, back.longest),
          restored: there.restored,
          "back again": back.restored,
        },
        missed: [
          ...(served.join() === markers[0] ? [] : [`the backup serves the keys ${served.join(", ")}`]),
          ...(again.length === markers.length ? [] : [`what was set aside serves ${again.join(", ")}`]),
        ],
      };
    } finally {
      await load.stop();
    }
  },
};
