/** An operator whose webhooks validate, mutate and convert, for `npm run e2e:webhooks`. */
import { controller, deny, done, operator, resource, webhook, z } from "keelson";
import { ConfigMap } from "keelson/kinds";

/** A resource of two versions that only functions convert. */
export const Schedule = resource({
  group: "guard.keelson.dev",
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

/** Marks what it was asked about and refuses what is bad, once for each policy. */
const guard = (name: string, failurePolicy: "Fail" | "Ignore") =>
  webhook(ConfigMap, {
    ...{ name, failurePolicy, timeoutSeconds: 2 },
    objects: { matchLabels: { policy: name } },
    mutate: (config) => {
      config.data = { ...config.data, seen: "yes" };
    },
    validate: (config) => (config.data?.["bad"] === undefined ? undefined : deny("this one is bad")),
  });

const life = Number(process.env["LEAF_MS"] ?? 0);

export const guards = operator({
  name: "guard-operator",
  controllers: [controller(Schedule, { reconcile: async () => done() })],
  webhooks: [guard("fail", "Fail"), guard("ignore", "Ignore")],
  webhookServer: {
    certificates: process.env["CERTIFICATES"] === "given" ? "given" : "own",
    ...(life > 0 ? { lives: { authorityMs: 3 * life, leafMs: life, settleMs: life / 5 } } : {}),
  },
});
