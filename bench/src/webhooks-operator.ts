/** An operator that serves webhooks at a URL, in a process of its own: what `webhooks.ts` loads and kills. */
import { ConfigMap } from "@keelson/core/kinds";
import { controller, deny, done, operator, silentLogger, webhook } from "@keelson/runtime";
import { Schedule } from "./webhooks-objects.ts";

const [kubeconfig = "", port = "", lifeMs = ""] = process.argv.slice(2);
const life = Number(lifeMs);
const guard = (name: string, failurePolicy: "Fail" | "Ignore") =>
  webhook(ConfigMap, {
    ...{ name, failurePolicy, timeoutSeconds: 2 },
    objects: { matchLabels: { policy: name } },
    mutate: (config) => {
      config.data = { ...config.data, seen: "yes" };
    },
    validate: (config) => (config.data?.["bad"] === undefined ? undefined : deny("this one is bad")),
  });
const running = await operator({
  ...{ name: "bench", client: { kubeconfig }, log: silentLogger, leaderElection: false, endpoints: false },
  controllers: [controller(Schedule, { reconcile: async () => done() })],
  webhooks: [guard("fail", "Fail"), guard("ignore", "Ignore")],
  webhookServer: {
    ...{ port: Number(port), host: "127.0.0.1", url: `https://127.0.0.1:${port}` },
    ...(life > 0 ? { lives: { authorityMs: 3 * life, leafMs: life, settleMs: life / 10 } } : {}),
  },
}).start();
while (running.ready() !== undefined) await new Promise((resolve) => setTimeout(resolve, 20));
console.log("ready");
process.once("SIGTERM", () => void running.stop().then(() => process.exit(0)));
