/** What is promised of a deployed operator, each with how it is shown. */
import { manifestsFor } from "@keelson/cli";
import { ConfigMap, Deployment, Namespace, Pod, SubjectAccessReview } from "keelson/kinds";
import { makeOperatorImages } from "../operator/images.ts";
import { type Promised, seconds, timed } from "../promises/promises.ts";
import { bundleRow } from "./bundle.ts";
import { helmRow } from "./helm.ts";
import { imageRow, startRow } from "./image.ts";
import { watchLeadership } from "./leadership.ts";
import { nocodeRow } from "./nocode.ts";
import { Ticket } from "./operator/src/api.ts";
import { keelson, type Setting, soon } from "./setting.ts";

const HANDOVER_MS = 2_000;
const at = (name: string) => ({ namespace: "default", name });

/** By the command on an embedded cluster; elsewhere the image is loaded by hand, as no registry is there. */
async function deploy(setting: Setting, logLevel = "info"): Promise<void> {
  const { client, controlPlane, kubeconfig, parts, project, say } = setting;
  if (controlPlane === "embedded" && logLevel === "info") {
    return await keelson("deploy", "--directory", project.directory, "--kubeconfig", kubeconfig);
  }
  const image = "ticket-operator:1.0.0";
  if (controlPlane !== "embedded") await makeOperatorImages(project, [image, `${image}-b`], say);
  const live = await client.kind(Deployment).find({ namespace: parts.name, name: parts.name });
  const running = live?.spec?.template.spec?.containers[0]?.image ?? image;
  for (const manifest of manifestsFor(project, parts, { namespace: parts.name, image: running })) {
    const kind = await client.discover(manifest.apiVersion, manifest.kind);
    const text = JSON.stringify(manifest).replace('"value":"info"', `"value":"${logLevel}"`);
    // The real API server has no way to webhooks in the network of our nodes, and must not wait for their consent.
    const reached =
      controlPlane === "embedded"
        ? text
        : text.replaceAll('"failurePolicy":"Fail"', '"failurePolicy":"Ignore"');
    const object = JSON.parse(reached) as never;
    await soon(`${manifest.kind} is applied`, async () => {
      await client.kind(kind).apply(object, { force: true });
      return true;
    });
  }
  await available(setting);
}

async function available({ client, parts }: Setting): Promise<void> {
  await soon(
    "every replica is available",
    async () => {
      const { metadata, spec, status } = await client
        .kind(Deployment)
        .get({ namespace: parts.name, name: parts.name });
      const { availableReplicas, observedGeneration, replicas, updatedReplicas } = status ?? {};
      return (
        observedGeneration === metadata.generation &&
        [availableReplicas, updatedReplicas, replicas].every((count) => count === spec?.replicas)
      );
    },
    120_000,
  );
}

async function receipt({ client }: Setting, name: string, paid: string): Promise<void> {
  await soon(`the receipt of ${name} says ${paid}`, async () => {
    const found = await client.kind(ConfigMap).find(at(name));
    return found?.data?.["paid"] === paid;
  });
}

export const scenarios: readonly Promised<Setting>[] = [
  {
    id: "deploy",
    promise: "`keelson deploy` brings an operator from its sources to two available replicas",
    run: async (setting) => {
      const ms = await timed(() => deploy(setting));
      await setting.client.kind(Ticket).create({ metadata: at("first"), spec: { amount: 12 } } as never);
      await receipt(setting, "first", "12 EUR");
      return seconds(ms);
    },
  },
  {
    id: "webhooks",
    promise: "webhooks behind its Service refuse and convert, for an operator in pods",
    run: async ({ client }) => {
      const refused = await client
        .kind(Ticket)
        .create({ metadata: at("refused"), spec: { amount: 13 } } as never)
        .then(
          () => "",
          (error: Error) => error.message,
        );
      if (!refused.includes("nobody sits in row 13")) throw new Error(`it was not refused: ${refused}`);
      const old = Ticket.at("v1alpha1");
      await client.kind(old).create({ metadata: at("old"), spec: { price: "7 USD" } } as never);
      const stored = await client.kind(Ticket).get(at("old"));
      const back = (await client.kind(old).get(at("old"))) as { spec?: { price?: string } };
      if (stored.spec.amount !== 7 || stored.spec.currency !== "USD" || back.spec?.price !== "7 USD") {
        throw new Error(`it was not converted: ${JSON.stringify(stored.spec)}`);
      }
      return "refused with its sentence; v1alpha1 in and out";
    },
  },
  {
    id: "role",
    promise: "it runs under its role: what it did not declare is forbidden",
    run: async ({ client, parts }) => {
      const name = `system:serviceaccount:${parts.name}:${parts.name}`;
      const may = async (verb: string, group: string, resource: string) => {
        const resourceAttributes = { verb, group, resource, namespace: "default" };
        const review = { metadata: {}, spec: { user: name, groups: [], resourceAttributes } };
        const answer = await client.kind(SubjectAccessReview).create(review as never);
        return (answer as { status?: { allowed?: boolean } }).status?.allowed === true;
      };
      const own = await may("patch", "fair.keelson.dev", "tickets/status");
      const foreign = await Promise.all([
        may("get", "", "secrets"),
        may("create", "", "pods"),
        may("list", "apps", "deployments"),
      ]);
      if (!own || foreign.includes(true))
        throw new Error(`its permissions are ${JSON.stringify({ own, foreign })}`);
      return "secrets, pods and deployments: forbidden";
    },
  },
  {
    id: "deleted",
    promise: "its leading pod is deleted: another leads, and changes are followed",
    run: async (setting) => {
      const { client, parts } = setting;
      const leadership = watchLeadership(client, { namespace: parts.name, name: parts.name });
      await soon("somebody leads", async () => leadership.holder !== "");
      const [pod = ""] = leadership.holder.split("_");
      await client.kind(Pod).delete({ namespace: parts.name, name: pod });
      const ms = await timed(async () => {
        await client.kind(Ticket).patch(at("first"), { type: "merge", body: { spec: { amount: 14 } } });
        await receipt(setting, "first", "14 EUR");
      });
      await available(setting);
      const handovers = await leadership.stop();
      if (handovers.length === 0) throw new Error("nobody took over");
      return `followed after ${seconds(ms)}; without a leader for ${seconds(worst(handovers))}`;
    },
  },
  {
    id: "rolling",
    promise: "a rolling update hands leadership over within 2 s",
    run: async (setting) => {
      const { client, parts } = setting;
      const leadership = watchLeadership(client, { namespace: parts.name, name: parts.name });
      await soon("somebody leads", async () => leadership.holder !== "");
      const ms = await timed(() => deploy(setting, "debug"));
      await client.kind(Ticket).patch(at("first"), { type: "merge", body: { spec: { amount: 15 } } });
      await receipt(setting, "first", "15 EUR");
      const handovers = await leadership.stop();
      if (handovers.length === 0) throw new Error("nobody took over");
      if (worst(handovers) > HANDOVER_MS)
        throw new Error(`without a leader for ${seconds(worst(handovers))}`);
      return `${handovers.length} handovers, the longest ${seconds(worst(handovers))}; rolled out in ${seconds(ms)}`;
    },
  },
  {
    id: "image",
    promise: "its image has at most 60 MB, is the same twice, lists its materials and is not root's",
    run: imageRow,
  },
  {
    id: "start",
    promise: "its program is ready within 1 s of its start",
    run: startRow,
  },
  {
    id: "bundle",
    promise: "operator-framework's own validators and opm find nothing wrong with its bundle and catalog",
    run: bundleRow,
  },
  {
    id: "nocode",
    promise: "`keelson install` runs a graph, a hook behind its Service and plans in a pod, under their role",
    run: nocodeRow,
  },
  {
    id: "undeploy",
    promise: "`keelson undeploy --crds` leaves nothing",
    run: async ({ client, kubeconfig, parts, project }) => {
      const ms = await timed(() =>
        keelson("undeploy", "--crds", "--directory", project.directory, "--kubeconfig", kubeconfig),
      );
      if (await client.kind(Namespace).find({ name: parts.name })) throw new Error("its namespace is left");
      return seconds(ms);
    },
  },
  {
    id: "helm",
    promise:
      "the real Helm lints its chart, renders the manifests, installs, upgrades, rolls back and uninstalls",
    run: helmRow,
  },
];

function worst(handovers: readonly { gapMs: number }[]): number {
  return Math.max(...handovers.map(({ gapMs }) => gapMs));
}
