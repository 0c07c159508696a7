/** Webhooks through the embedded API server, in virtual time: answers, certificates, crashes. */
import { X509Certificate } from "node:crypto";
import { createClient, isApiError } from "@keelson/client";
import { type AnyKind, type Condition, findCondition } from "@keelson/core";
import {
  ConfigMap,
  CustomResourceDefinition,
  MutatingWebhookConfiguration,
  Secret,
  ValidatingWebhookConfiguration,
} from "@keelson/core/kinds";
import {
  admissionPolicy,
  controller,
  deny,
  done,
  operator,
  roleFor,
  silentLogger,
  type Webhook,
  webhook,
} from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { type Cluster, cluster, everyCrash } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const Cache = resource({
  group: "cache.example.com",
  kind: "Cache",
  version: "v1",
  spec: z.object({ size: z.int().default(1), zone: z.string().optional() }),
  status: z.object({ seen: z.int().optional() }),
});
const ref = { namespace: "default", name: "a" };

const cacheWebhook = webhook(Cache, {
  operations: ["CREATE", "UPDATE", "DELETE"],
  validate: (cache, { oldObject, operation, user, warn }) => {
    if (operation === "DELETE") return user.name === "admin" ? deny("not even you") : undefined;
    if (oldObject && cache.spec.size < oldObject.spec.size) {
      return deny("a cache cannot shrink", { field: "spec.size" });
    }
    if (cache.spec.size > 100) warn(`${cache.spec.size} servers cost money`);
    return undefined;
  },
  mutate: (cache) => {
    cache.spec.zone ??= "eu-1";
    cache.metadata.labels = { ...cache.metadata.labels, "cache.example.com/zone": cache.spec.zone };
  },
});
const cacheController = controller(Cache, {
  owns: { config: ConfigMap },
  compose: ({ spec }) => ({
    children: { config: { data: { zone: String(spec.zone) } } },
    status: { seen: spec.size },
  }),
});
const create = (c: Cluster, size: number) => c.client.kind(Cache).create({ metadata: ref, spec: { size } });
const said = async (work: Promise<unknown>) =>
  await work.then(
    () => "it was taken",
    (error: Error) => error.message,
  );

describe("a webhook", () => {
  test("sees old object, user and dry run, refuses by field, warns and changes", async () => {
    const requests: { operation: string; user: string; groups: readonly string[]; dryRun: boolean }[] = [];
    const seeing = webhook(Cache, {
      name: "seeing",
      validate: (_cache, { operation, user, dryRun }) => {
        requests.push({ operation, user: user.name, groups: user.groups, dryRun });
      },
    });
    await using c = await cluster({ controllers: [cacheController], webhooks: [cacheWebhook, seeing] });
    const made = await create(c, 3);
    expect(made.spec.zone).toBe("eu-1");
    expect(made.metadata.labels).toMatchObject({ "cache.example.com/zone": "eu-1" });
    const shrink = c.client.kind(Cache).patch(ref, { type: "merge", body: { spec: { size: 2 } } });
    await expect(shrink).rejects.toMatchObject({ code: 422, reason: "Invalid" });
    expect(await said(shrink)).toContain(
      'admission webhook "validate.cache.test.keelson.dev" denied the request: spec.size: a cache cannot shrink',
    );
    const warnings: string[] = [];
    const warned = createClient({
      http: c.client.http,
      onWarning: ({ text: message }) => warnings.push(message),
    });
    await warned.kind(Cache).patch(ref, { type: "merge", body: { spec: { size: 101 } } }, { dryRun: true });
    expect(warnings).toEqual(["101 servers cost money"]);
    expect((await c.client.kind(Cache).get(ref)).spec.size).toBe(3);
    const own = requests.filter(({ operation }) => operation === "UPDATE").at(-1);
    expect(requests[0]).toMatchObject({ operation: "CREATE", dryRun: false });
    expect(requests[0]?.groups).toContain("system:masters");
    expect(own?.dryRun).toBe(true);
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ zone: "eu-1" });
  });

  test("stands before any other kind too, only where it is asked for", async () => {
    const guarded = webhook(ConfigMap, {
      name: "guarded",
      operations: ["UPDATE", "DELETE"],
      objects: { matchLabels: { guarded: "yes" } },
      conditions: { "not-the-owner": "!has(object.data) || !('owner' in object.data)" },
      validate: () => deny("this one stays as it is"),
    });
    await using c = await cluster({ webhooks: [guarded] });
    const configs = c.client.kind(ConfigMap);
    await configs.create({ metadata: ref });
    await configs.patch(ref, { type: "merge", body: { data: { free: "yes" } } });
    await configs.create({ metadata: { ...ref, name: "b", labels: { guarded: "yes" } } });
    const change = configs.patch({ ...ref, name: "b" }, { type: "merge", body: { data: { a: "b" } } });
    await expect(change).rejects.toMatchObject({ code: 403, reason: "Forbidden" });
    await configs.patch({ ...ref, name: "b" }, { type: "merge", body: { data: { owner: "me" } } });
  });

  test.each(["Fail", "Ignore"] as const)(
    "that throws, hangs or is gone is treated as %s says",
    async (failurePolicy) => {
      let answer: () => Promise<void> = async () => {};
      const broken = webhook(ConfigMap, {
        name: "broken",
        failurePolicy,
        timeoutSeconds: 2,
        validate: () => answer(),
      });
      await using c = await cluster({ webhooks: [broken] });
      const taken = failurePolicy === "Ignore";
      const attempt = async (name: string) => {
        const work = c.client.kind(ConfigMap).create({ metadata: { ...ref, name } });
        return await said(c.clock.run(work));
      };
      answer = async () => {
        throw new Error("the database is away");
      };
      expect(await attempt("throws")).toMatch(taken ? "it was taken" : /the database is away/);
      answer = () => new Promise(() => {});
      expect(await attempt("hangs")).toMatch(taken ? "it was taken" : /failed calling webhook/);
      c.crash();
      expect(await attempt("gone")).toMatch(taken ? "it was taken" : /failed calling webhook.*ECONNREFUSED/);
      answer = async () => {};
      await c.advance(10_000);
      expect(await attempt("back")).toBe("it was taken");
    },
  );

  test("is refused when it would do nothing, or cannot be named", () => {
    expect(() => webhook(ConfigMap)).toThrow('webhook "configmap" of ConfigMap does nothing');
    expect(() => webhook(ConfigMap, { name: "No Label", validate: () => {} })).toThrow("must be a DNS label");
  });
});

describe("the certificate", () => {
  const authoritiesOf = async (c: Cluster) => {
    const read = async (kind: AnyKind) =>
      (
        (await c.client.kind(kind).get({ name: "test" })) as unknown as {
          webhooks: { clientConfig: { caBundle: string } }[];
        }
      ).webhooks[0]?.clientConfig.caBundle;
    return [await read(ValidatingWebhookConfiguration), await read(MutatingWebhookConfiguration)];
  };

  test("is renewed with its authority, by whichever manager is first, and no request fails", async () => {
    const hour = 3_600_000;
    const certificateLives = { authorityMs: 6 * hour, leafMs: 2 * hour, settleMs: 600_000 };
    await using c = await cluster({
      ...{ webhooks: [cacheWebhook], certificateLives },
      ...{ managers: 2, leaderElection: false },
    });
    await create(c, 1);
    const leaves = new Set<string>();
    const authorities = new Set<string>();
    for (let elapsed = 0; elapsed < 16 * hour; elapsed += hour / 4) {
      await c.advance(hour / 4);
      const body = { metadata: { annotations: { elapsed: `${elapsed}` } } };
      await c.client.kind(Cache).patch(ref, { type: "merge", body });
      if (elapsed === 7 * hour) c.crash();
      const { data = {} } = await c.client.kind(Secret).get({ namespace: "default", name: "test-webhook" });
      leaves.add(data["tls.crt"] as string);
      authorities.add(data["ca.crt"] as string);
      expect(await authoritiesOf(c)).toEqual([data["ca.crt"], data["ca.crt"]]);
    }
    expect(leaves.size).toBeGreaterThanOrEqual(8);
    expect(authorities.size).toBeGreaterThanOrEqual(4);
  });

  test("is written again when someone takes the authority away", async () => {
    await using c = await cluster({ webhooks: [cacheWebhook] });
    await c.client
      .kind(ValidatingWebhookConfiguration)
      .patch(
        { name: "test" },
        { type: "json", operations: [{ op: "remove", path: "/webhooks/0/clientConfig/caBundle" }] },
      );
    await c.settle();
    const [validating, mutating] = await authoritiesOf(c);
    expect(validating).toBe(mutating);
    await create(c, 1);
  });

  test("is made again when the Secret is emptied, or holds something else", async () => {
    await using c = await cluster({ webhooks: [cacheWebhook], managers: 2 });
    await c.advance(1_000);
    const broken: Record<string, string>[] = [
      {},
      { "tls.crt": "bm90IGEgY2VydGlmaWNhdGU=", "tls.key": "", "ca.crt": "", "ca.key": "" },
    ];
    for (const data of broken) {
      const secret = await c.client.kind(Secret).get({ namespace: "default", name: "test-webhook" });
      await c.client.kind(Secret).update({ ...secret, data });
      await c.advance(1_000);
      const { data: now = {} } = await c.client
        .kind(Secret)
        .get({ namespace: "default", name: "test-webhook" });
      const leaf = new X509Certificate(Buffer.from(now["tls.crt"] as string, "base64"));
      expect(leaf.checkHost("test-webhook.default.svc")).toBeDefined();
      await c.client
        .kind(Cache)
        .create({ metadata: { ...ref, name: `n${Object.keys(data).length}` }, spec: {} });
    }
  });

  test("needs permissions by name alone, and creates nothing", () => {
    const rules = roleFor([], { events: false, webhooks: { name: "ops", webhooks: [cacheWebhook] } });
    expect(rules).toEqual([
      {
        apiGroups: [""],
        resources: ["secrets"],
        verbs: ["get", "list", "watch", "update"],
        resourceNames: ["ops-webhook"],
      },
      {
        apiGroups: ["admissionregistration.k8s.io"],
        resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        verbs: ["get", "list", "watch", "patch"],
        resourceNames: ["ops"],
      },
    ]);
  });
});

describe("readiness", () => {
  test("comes with the certificate, and says what is missing", async () => {
    await using c = await cluster({ webhooks: [cacheWebhook] });
    const [manager] = c.managers;
    expect(manager?.running?.ready()).toBeUndefined();
    await c.client.kind(MutatingWebhookConfiguration).delete({ name: "test" });
    await c.settle();
    expect(manager?.running?.ready()).toBe(
      "webhooks are not served: MutatingWebhookConfiguration.admissionregistration.k8s.io test does not exist; keelson generate writes it",
    );
  });

  test("outside a cluster is not held up by webhooks that nobody can ask", async () => {
    const lines: string[] = [];
    const log = { ...silentLogger, warn: (message: string) => lines.push(message) };
    await using c = await cluster({ resources: [Cache] });
    await using running = await operator({
      controllers: [],
      webhooks: [cacheWebhook],
      client: c.client,
      log,
    }).start();
    expect(running.ready()).toBeUndefined();
    expect(lines).toEqual([
      "webhooks are not served: outside a cluster webhookServer.url, or the variable KEELSON_WEBHOOK_URL, says where the API server finds them",
    ]);
  });
});

describe("a crash before and after every write", () => {
  test("leaves certificates, registrations and objects whole", async () => {
    const report = await everyCrash(
      { controllers: [cacheController], webhooks: [cacheWebhook] },
      async (c) => {
        await c.until(async () => (await said(create(c, 3))) === "it was taken");
        await c.converges({ ready: false });
        expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ zone: "eu-1" });
        await expect(
          c.client.kind(Cache).patch(ref, { type: "merge", body: { spec: { size: 1 } } }),
        ).rejects.toSatisfy(isApiError);
        const ready = findCondition(
          (await c.client.kind(Cache).get(ref)).status?.conditions as Condition[],
          "Ready",
        );
        expect(ready?.status).toBe("True");
      },
    );
    expect(report.writes).toBeGreaterThanOrEqual(5);
  });
});

describe("a resource with conversions", () => {
  const Schedule = resource({
    group: "batch.example.com",
    kind: "Schedule",
    versions: {
      v1beta1: { spec: z.object({ at: z.string() }) },
      v1: { spec: z.object({ hour: z.string(), minute: z.string() }) },
    },
    storage: "v1",
    conversions: {
      v1beta1: {
        toStored: ({ spec }) => ({ spec: { hour: spec.at.slice(0, 2), minute: spec.at.slice(3) } }),
        fromStored: ({ spec }) => ({ spec: { at: `${spec.hour}:${spec.minute}` } }),
      },
    },
  });
  const schedules = controller(Schedule, {
    owns: { config: ConfigMap },
    compose: ({ spec }) => ({ children: { config: { data: { at: `${spec.hour}h${spec.minute}` } } } }),
  });
  const old = Schedule.at("v1beta1");
  const validated: Webhook = webhook(Schedule, {
    validate: ({ spec }) =>
      Number(spec.hour) < 24 ? undefined : deny("a day has 24 hours", { field: "spec.hour" }),
  });

  test("is served at every version, validated at the stored one", async () => {
    await using c = await cluster({ controllers: [schedules], webhooks: [validated] });
    const make = (name: string, at: string) =>
      c.client.kind(old).create({ metadata: { ...ref, name }, spec: { at } } as never);
    await make("a", "03:15");
    expect(await said(make("b", "25:00"))).toContain("spec.hour: a day has 24 hours");
    await c.converges();
    expect((await c.client.kind(ConfigMap).get(ref)).data).toEqual({ at: "03h15" });
    expect(await c.client.kind(Schedule).get(ref)).toMatchObject({ spec: { hour: "03", minute: "15" } });
    expect(await c.client.kind(old).get(ref)).toMatchObject({ spec: { at: "03:15" } });
  });

  test("is right at every version for all that is stored, before and after its storage version is migrated", async () => {
    await using c = await cluster({ controllers: [schedules], managers: 2 });
    await c.advance(1_000);
    const names = Array.from({ length: 60 }, (_, index) => `s-${index}`);
    const at = (index: number) =>
      `${String(index % 24).padStart(2, "0")}:${index % 60 < 10 ? "0" : ""}${index % 60}`;
    for (const [index, name] of names.entries()) {
      await c.client.kind(old).create({ metadata: { ...ref, name }, spec: { at: at(index) } } as never);
    }
    const check = async () => {
      const { items } = await c.client.kind(old).list({ namespace: "default" });
      const served = new Map(
        (items as unknown as { metadata: { name: string }; spec: { at: string } }[]).map((each) => [
          each.metadata.name,
          each.spec.at,
        ]),
      );
      expect(served).toEqual(
        new Map(names.map((name, index) => [name, at(index)]).sort() as [string, string][]),
      );
    };
    await check();
    const crds = c.client.kind(CustomResourceDefinition);
    const name = "schedules.batch.example.com";
    const crd = await crds.get({ name });
    const versions = crd.spec.versions.map((each) => ({ ...each, storage: each.name === "v1beta1" }));
    await crds.update({ ...crd, spec: { ...crd.spec, versions } });
    await c.advance(1_000);
    expect((await crds.get({ name })).status?.storedVersions).toEqual(["v1", "v1beta1"]);
    c.crash();
    for (const each of names)
      await c.client.kind(old).patch({ ...ref, name: each }, { type: "merge", body: {} });
    const migrated = await crds.get({ name });
    const status = { ...migrated.status, storedVersions: ["v1beta1"] };
    await crds.subresource("status").update({ ...migrated, status } as never);
    expect((await crds.get({ name })).status?.storedVersions).toEqual(["v1beta1"]);
    await check();
    await c.converges();
    expect((await c.client.kind(ConfigMap).get({ ...ref, name: "s-15" })).data).toEqual({ at: "15h15" });
  });

  test("is there again after every manager was away", async () => {
    await using c = await cluster({ controllers: [schedules], restartMs: 600_000 });
    await c.client.kind(Schedule).create({ metadata: ref, spec: { hour: "03", minute: "15" } });
    c.crash();
    expect(await said(c.clock.run(c.client.kind(old).get(ref)))).toMatch(/conversion webhook .* failed/);
    await c.advance(600_000);
    expect(await c.client.kind(old).get(ref)).toMatchObject({ spec: { at: "03:15" } });
    await c.converges();
  });
});
test("webhooks need no controller, and a manager with both ends in good order", async () => {
  const idle = controller(Cache, { reconcile: async () => done() });
  await using c = await cluster({ controllers: [idle], webhooks: [cacheWebhook] });
  await create(c, 1);
  await c.clock.run(c.managers[0]?.stop() ?? Promise.resolve());
  expect(await said(c.client.kind(Cache).create({ metadata: { ...ref, name: "b" }, spec: {} }))).toMatch(
    /failed calling webhook/,
  );
});

describe("a policy", () => {
  test("is evaluated by the API server alone", async () => {
    const policy = admissionPolicy(Cache, {
      name: "caches-do-not-shrink",
      operations: ["UPDATE"],
      variables: { shrinks: "object.spec.size < oldObject.spec.size" },
      validations: [{ expression: "!variables.shrinks", message: "a cache cannot shrink" }],
    });
    await using c = await cluster({ resources: [Cache], policies: [policy] });
    await create(c, 3);
    const shrink = c.client.kind(Cache).patch(ref, { type: "merge", body: { spec: { size: 2 } } });
    expect(await said(shrink)).toContain("a cache cannot shrink");
    await c.client.kind(Cache).patch(ref, { type: "merge", body: { spec: { size: 4 } } });
  });

  test("that does not compile is refused where it is written", () => {
    const broken = (expression: string) => () =>
      admissionPolicy(Cache, { name: "broken", validations: [{ expression, message: "no" }] });
    expect(broken("object.spec.size >")).toThrow(
      'policy "broken", validation 1: compilation failed: ERROR: <input>:1:19: Syntax error',
    );
    expect(broken("object.spec.size + 1")).toThrow("must evaluate to");
  });
});
