/** The image of an operator: how large, whether it is the same twice, what is in it, and how fast it is ready. */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildImage } from "@keelson/cli";
import { Images, loadImages } from "@keelson/images";
import { parse } from "yaml";
import type { Setting } from "./setting.ts";

const LARGEST_MB = 60;
const READY_MS = 1_000;
const image = "ticket-operator:1.0.0";
const base = `gcr.io/distroless/nodejs${process.versions.node.split(".")[0]}-debian12`;

export async function imageRow({ project, say, scratch }: Setting): Promise<string> {
  const options = { image, base, onProgress: say };
  const [one, other] = [await buildImage(project, options), await buildImage(project, options)];
  if (one.digest !== other.digest) throw new Error(`two builds differ: ${one.digest}, ${other.digest}`);
  const megabytes = one.archive.length / 1e6;
  if (megabytes > LARGEST_MB) throw new Error(`it has ${megabytes.toFixed(1)} MB`);
  const { components } = JSON.parse(one.sbom) as { components: { purl: string }[] };
  const count = (kind: string) => components.filter(({ purl }) => purl.startsWith(`pkg:${kind}/`)).length;
  const path = join(scratch, "image.tar");
  writeFileSync(path, one.archive);
  await loadImages(path);
  const found = await new Images().find(image);
  const [user] = found?.config.user.split(":") ?? [];
  if (user !== "65532") throw new Error(`it runs as ${user}`);
  const listed = readFileSync(join(found?.rootfs ?? "", "app/sbom.cdx.json"), "utf8") === one.sbom;
  if (!listed || count("npm") === 0) throw new Error("its bill of materials is not in it");
  const materials = `${count("npm")} npm and ${count("deb")} Debian packages`;
  return `${megabytes.toFixed(1)} MB compressed, ${one.digest.slice(0, 19)}… twice, ${materials}, user 65532`;
}

/** From the start of the image's program to its first ready answer, on this machine, against the cluster. */
export async function startRow({ kubeconfig: own, parts, say, scratch }: Setting): Promise<string> {
  const found = await new Images().find(image);
  if (!found) throw new Error("the image is not here");
  const taken = await Promise.all([8080, 9443].map(isTaken));
  if (taken.includes(true)) return "skipped: the operator's ports are in use on this machine";
  // In a pod it looks at its own namespace, where the Secret of its webhooks is.
  const kubeconfig = join(scratch, "kubeconfig.json");
  const document = parse(readFileSync(own, "utf8")) as { contexts: { context: { namespace?: string } }[] };
  for (const { context } of document.contexts) context.namespace = parts.name;
  // In a pod no YAML is read either.
  writeFileSync(kubeconfig, JSON.stringify(document), { mode: 0o600 });
  const times: number[] = [];
  for (let run = 0; run < 5; run++) times.push(await readyAfter(found, kubeconfig));
  say(`ready after ${times.map((ms) => ms.toFixed(0)).join(", ")} ms`);
  const median = times.toSorted((a, b) => a - b)[2] ?? 0;
  if (median > READY_MS) throw new Error(`ready after ${median.toFixed(0)} ms (median of 5)`);
  return `${median.toFixed(0)} ms, median of 5 (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)})`;
}

type Found = NonNullable<Awaited<ReturnType<Images["find"]>>>;

async function readyAfter({ config, rootfs }: Found, kubeconfig: string): Promise<number> {
  const [node = "", ...args] = config.entrypoint;
  const startedAt = performance.now();
  const operator = spawn(join(rootfs, node), args, {
    cwd: join(rootfs, config.workingDir),
    // As in a pod, but for the way to the API server.
    env: {
      KUBECONFIG: kubeconfig,
      KUBERNETES_SERVICE_HOST: "here",
      POD_NAMESPACE: "ticket-operator",
      NODE_ENV: "production",
    },
    stdio: "ignore",
  });
  const ended = new Promise<void>((resolve) => operator.once("exit", () => resolve()));
  try {
    for (;;) {
      const ok = await fetch("http://127.0.0.1:8080/readyz").then(
        ({ status }) => status === 200,
        () => false,
      );
      if (ok) return performance.now() - startedAt;
      if (performance.now() - startedAt > 30_000) throw new Error("not ready after 30 s");
      await sleep(5);
    }
  } finally {
    operator.kill("SIGTERM");
    await ended;
  }
}

async function isTaken(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once("error", () => resolve(true));
    server.listen(port, () => server.close(() => resolve(false)));
  });
}
