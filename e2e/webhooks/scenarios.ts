/** What webhooks in pods promise, each with a run that shows it. */
import { X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigMap } from "keelson/kinds";
import { eventually } from "../operator/eventually.ts";
import type { Promised } from "../promises/promises.ts";
import { CertManager } from "./cert-manager.ts";
import { type Guarded, operatorName, secretRef } from "./guarded.ts";
import { load, type Policy, type Tally } from "./load.ts";
import { Schedule } from "./operator/src/index.ts";

interface Pace {
  /** Requests per second. */
  readonly rate: number;
  readonly seconds: number;
}

export const scenarios = (pace: Pace): readonly Promised<Guarded>[] => [
  {
    id: "serve",
    promise: "two replicas validate, mutate and convert behind their Service, with one certificate",
    run: serve,
  },
  {
    id: "rotate",
    promise: "certificates are rotated under load: no request fails",
    run: (guarded) => rotate(guarded, pace),
  },
  {
    id: "kill",
    promise: "serving pods are killed, `failurePolicy: Fail`: no wrong answer, nothing passes unasked",
    run: (guarded) => kill(guarded, pace, "fail"),
  },
  {
    id: "ignore",
    promise: "serving pods are killed, `failurePolicy: Ignore`: no wrong answer, no request fails",
    run: (guarded) => kill(guarded, pace, "ignore"),
  },
  {
    id: "given",
    promise: "certificates of cert-manager are served, and renewed under load: no request fails",
    run: (guarded) => given(guarded, pace),
  },
];

async function serve(guarded: Guarded): Promise<string> {
  const { client } = guarded;
  const make = (policy: Policy, data: Record<string, string>) => {
    const metadata = { namespace: "default", name: `serve-${policy}`, labels: { policy } };
    return client.kind(ConfigMap).create({ metadata, data }, { dryRun: true });
  };
  // The server hears of the configurations a little later than they are stored.
  await eventually("the webhook mutates", 30_000, async () => {
    return (await make("fail", { good: "yes" })).data?.["seen"] === "yes";
  });
  const refusal = await make("fail", { bad: "yes" }).then(() => "none", String);
  if (!refusal.includes("this one is bad")) throw new Error(`a bad one was not refused: ${refusal}`);
  const old = Schedule.at("v1beta1");
  const ref = { namespace: "default", name: "nightly" };
  await client.kind(old).create({ metadata: ref, spec: { at: "03:15" } } as never);
  const { spec } = await client.kind(Schedule).get(ref);
  if (spec.hour !== "03" || spec.minute !== "15") throw new Error(`converted to ${JSON.stringify(spec)}`);
  const secret = await guarded.secret();
  const kept = new X509Certificate(secret["tls.crt"] ?? "").fingerprint256;
  const pods = await guarded.pods();
  const shown = await Promise.all(pods.map((pod) => guarded.certificateOf(pod, secret["ca.crt"] ?? "")));
  if (!shown.every((each) => each === kept))
    throw new Error("a replica shows another certificate than the Secret");
  return `${pods.length} replicas show the certificate of Secret ${secretRef.name}`;
}

async function rotate(guarded: Guarded, { rate, seconds }: Pace): Promise<string> {
  // Short enough for three certificates and a new authority, and long enough for a busy machine: a certificate's times are
  // whole seconds, and a third of its life is left when the next one is made.
  const leafMs = Math.max(8_000, (seconds * 1000) / 4);
  await guarded.configure({ LEAF_MS: String(leafMs) });
  // One that is good for months would not be renewed.
  await guarded.renew();
  const seen = { leaves: new Set<string>(), authorities: new Set<string>() };
  const done = new AbortController();
  const watching = (async () => {
    while (!done.signal.aborted) {
      const secret = await guarded.secret();
      seen.leaves.add(secret["tls.crt"] ?? "");
      seen.authorities.add(secret["ca.key"] ?? "");
      await sleep(200);
    }
  })();
  const tally = await load(guarded.client, "fail", { rate, seconds, label: "rotate" });
  done.abort();
  await watching;
  await guarded.configure({ LEAF_MS: "0" });
  const measured = `${tally.sent} requests, ${tally.failed} failed, ${tally.wrong} wrong; ${seen.leaves.size} certificates of ${seen.authorities.size} authorities`;
  if (tally.failed > 0 || tally.wrong > 0) throw new Error(`${measured}: ${tally.example}`);
  if (seen.leaves.size < 3 || seen.authorities.size < 2) throw new Error(`too little: ${measured}`);
  return measured;
}

async function kill(guarded: Guarded, { rate, seconds }: Pace, policy: Policy): Promise<string> {
  await guarded.serves();
  const killing = (async () => {
    const pods = await guarded.pods();
    for (const pod of pods) {
      await sleep((seconds * 1000) / (pods.length + 2));
      await guarded.kill(pod);
      guarded.say(`killed ${pod}`);
    }
  })();
  const tally = await load(guarded.client, policy, { rate, seconds, label: "kill" });
  await killing;
  await guarded.serves();
  const after = await load(guarded.client, policy, { rate, seconds: 2, label: "after" });
  const measured = `${told(tally)}; afterwards ${told(after)}`;
  const wrong = tally.wrong + after.wrong;
  const unexpected = policy === "ignore" ? tally.failed + after.failed : tally.unseen + after.failed;
  if (wrong > 0 || unexpected > 0) throw new Error(`${measured}: ${tally.example}`);
  return measured;
}

async function given(guarded: Guarded, { rate, seconds }: Pace): Promise<string> {
  const manager = new CertManager(guarded.client, { secret: secretRef, operator: operatorName });
  // In this order: a replica that makes its own certificates takes another's for a broken one, and makes a new one.
  await guarded.configure({ CERTIFICATES: "given" });
  await manager.issue();
  await manager.inject();
  const secret = await guarded.secret();
  await shows(guarded, secret);
  const renewing = (async () => {
    for (let renewal = 1; renewal <= 3; renewal++) {
      await sleep((seconds * 1000) / 5);
      await manager.issue();
    }
  })();
  const tally = await load(guarded.client, "fail", { rate, seconds, label: "given" });
  await renewing;
  await shows(guarded, await guarded.secret());
  const measured = `${told(tally)}; renewed 3 times`;
  if (tally.failed + tally.wrong + tally.unseen > 0) throw new Error(`${measured}: ${tally.example}`);
  return measured;
}

/** Resolves when both replicas show the certificate of the Secret. */
async function shows(guarded: Guarded, secret: Readonly<Record<string, string>>): Promise<void> {
  const wanted = new X509Certificate(secret["tls.crt"] ?? "").fingerprint256;
  await eventually("both replicas show the certificate of the Secret", 30_000, async () => {
    const pods = await guarded.pods();
    const shown = await Promise.all(pods.map((each) => guarded.certificateOf(each, secret["ca.crt"] ?? "")));
    return shown.every((each) => each === wanted);
  });
}

function told({ sent, failed, unseen, wrong }: Tally): string {
  return `${sent} requests, ${failed} failed, ${unseen} passed unasked, ${wrong} wrong`;
}
