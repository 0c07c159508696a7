/** What every demo needs: a cluster that goes away with it, and an operator that is built and installed there. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buildImage, loadOperator, manifestsFor, readProject } from "@keelson/cli";
import { type Cluster, startCluster } from "@keelson/cluster";
import { Deployment } from "@keelson/core/kinds";
import { loadImages } from "@keelson/images";
import { until } from "@keelson/testing";
import { type Narrator, narrate } from "../narrate.ts";
import { compilePackages, root } from "../run.ts";

export class Stage {
  readonly say: Narrator;
  readonly cluster: Cluster;
  #isOver = false;

  private constructor(say: Narrator, cluster: Cluster) {
    this.say = say;
    this.cluster = cluster;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        say.interrupt("taking the cluster down");
        void this.#leave(this.#isOver ? 0 : 130);
      });
    }
  }

  /** Tells of the cluster as the first step. */
  static async open(sentence: string, nodes: number): Promise<Stage> {
    const say = narrate();
    const cluster = await say.step(sentence, () => startCluster({ nodes, onProgress: say.progress }));
    const stage = new Stage(say, cluster);
    if (cluster.pods === "simulated") {
      console.error(
        "this machine allows no sandboxes, so pods would be simulated: there is nothing true to show",
      );
      await stage.#leave(1);
    }
    return stage;
  }

  /** The operator in a folder of `operators/`. */
  operator(folder: string): { build(): Promise<void>; install(): Promise<void> } {
    const { client, kubeconfig } = this.cluster;
    const project = readProject(join(root, "operators", folder));
    const image = `${project.name}:${project.version}`;
    return {
      build: async () => {
        this.say.progress("compiling the packages");
        compilePackages("packages/keelson", "packages/kit");
        const onProgress = this.say.progress;
        const { archive, digest } = await buildImage(project, { image, base: "node:24", onProgress });
        const path = join(dirname(kubeconfig), "operator.oci.tar");
        await writeFile(path, archive);
        await loadImages(path);
        this.say.detail(`${image}  ${digest.slice(0, 19)}  ${(archive.length / 2 ** 20).toFixed(0)} MiB`);
      },
      install: async () => {
        const where = { namespace: project.name, name: project.name };
        const parts = await loadOperator(project);
        for (const manifest of manifestsFor(project, parts, {
          namespace: project.name,
          image,
          replicas: 1,
        })) {
          const kind = await client.discover(manifest.apiVersion, manifest.kind);
          await client.kind(kind).apply(manifest);
        }
        await until(client, Deployment, where, (each) => each?.status?.availableReplicas === 1, {
          timeoutMs: 120_000,
        });
      },
    };
  }

  /** Ends the demo. A person at a terminal who did not say `--exit` can go on with these commands first. */
  async end(commands: readonly string[]): Promise<never> {
    this.say.end();
    this.#isOver = true;
    if (!process.argv.includes("--exit") && process.stdout.isTTY) {
      console.log("\nThe cluster stays up until Ctrl-C. In another terminal:\n");
      for (const command of [`export KUBECONFIG=${this.cluster.kubeconfig}`, ...commands])
        console.log(`  ${command}`);
      await new Promise(() => {});
    }
    return await this.#leave(0);
  }

  async #leave(code: number): Promise<never> {
    await this.cluster.stop();
    process.exit(code);
  }
}
