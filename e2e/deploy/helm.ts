/** The chart under the real Helm. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { manifestsFor } from "@keelson/cli";
import { locateHelm } from "@keelson/reference/locate";
import { CustomResourceDefinition, Deployment } from "keelson/kinds";
import { parseAllDocuments } from "yaml";
import { seconds, timed } from "../promises/promises.ts";
import { keelson, type Setting } from "./setting.ts";

const run = promisify(execFile);

interface Rendered {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
}

export async function helmRow(setting: Setting): Promise<string> {
  const found = locateHelm();
  if ("missing" in found) return `skipped: ${found.missing}`;
  const { client, kubeconfig, parts, project, scratch } = setting;
  const helm = async (...args: string[]) =>
    (await run(found.helm, args, { env: { ...process.env, KUBECONFIG: kubeconfig }, maxBuffer: 1 << 26 }))
      .stdout;
  const folder = join(scratch, "deploy");
  await keelson("generate", "--directory", project.directory, "--to", folder);
  const chart = join(folder, "chart", parts.name);
  // Deployed before, it is in the store.
  await keelson("image", "tag", "ticket-operator:1.0.0", "ticket-operator:1.0.1");
  await helm("lint", "--strict", chart);
  const target = ["ticket-operator", chart, "--namespace", parts.name];
  compare(await helm("template", ...target), setting);
  const refused = await helm("template", ...target, "--set", "replicas=many").catch(
    (error: Error) => error.message,
  );
  if (!/replicas/.test(refused)) throw new Error("a wrong value was not refused");
  const wait = ["--wait", "--timeout", "90s"];
  const live = async () => {
    const { spec } = await client.kind(Deployment).get({ namespace: parts.name, name: parts.name });
    return `${spec?.replicas} of ${spec?.template.spec?.containers[0]?.image}`;
  };
  const expectLive = async (what: string) => {
    const is = await live();
    if (is !== what) throw new Error(`it runs ${is}, not ${what}`);
  };
  const installMs = await timed(() => helm("install", ...target, "--create-namespace", ...wait));
  await expectLive("2 of ticket-operator:1.0.0");
  const settings = [
    "--set",
    "image.tag=1.0.1",
    "--set",
    "replicas=1",
    "--set",
    "env[0].name=A",
    "--set",
    "env[0].value=b",
  ];
  const upgradeMs = await timed(() => helm("upgrade", ...target, ...settings, ...wait));
  await expectLive("1 of ticket-operator:1.0.1");
  const rollbackMs = await timed(() =>
    helm("rollback", "ticket-operator", "1", "--namespace", parts.name, ...wait),
  );
  await expectLive("2 of ticket-operator:1.0.0");
  await helm("uninstall", "ticket-operator", "--namespace", parts.name, "--wait");
  const crd = await client.kind(CustomResourceDefinition).find({ name: "tickets.fair.keelson.dev" });
  if (crd === undefined) throw new Error("the CRD went with the chart");
  return `Helm ${found.version}: install ${seconds(installMs)}, upgrade ${seconds(upgradeMs)}, rollback ${seconds(rollbackMs)}`;
}

/** What the chart renders with its own values is what is applied without it. */
function compare(text: string, { parts, project }: Setting): void {
  const documents = parseAllDocuments(text) as unknown as { toJS(): Rendered | null }[];
  const rendered = documents.flatMap((document) => document.toJS() ?? []).map(plain);
  const image = "ticket-operator:1.0.0";
  const expected = (manifestsFor(project, parts, { namespace: parts.name, image }) as Rendered[])
    .filter(({ kind }) => kind !== "Namespace")
    .map((each) => plain(JSON.parse(JSON.stringify(each))));
  const sort = (all: readonly Rendered[]) => all.map((each) => JSON.stringify(sorted(each))).sort();
  const [one, other] = [sort(rendered), sort(expected)];
  const difference = one.find((each) => !other.includes(each)) ?? other.find((each) => !one.includes(each));
  if (difference !== undefined)
    throw new Error(`the chart differs from the manifests: ${difference.slice(0, 2_000)}`);
}

/** Without the word to Helm that it keeps a CRD. */
function plain(object: Rendered): Rendered {
  if (object.kind !== "CustomResourceDefinition") return object;
  const { annotations: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}
