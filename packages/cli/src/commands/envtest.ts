/** `keelson envtest`: the assets of Go's envtest, of which kube-apiserver and etcd are ours. */
import { join, resolve } from "node:path";
import { buildCommand } from "@stricli/core";

interface EnvtestFlags {
  readonly dir?: string;
}

export const envtest = buildCommand<EnvtestFlags>({
  docs: {
    brief: "Print a folder for KUBEBUILDER_ASSETS whose API server is this one",
    fullDescription:
      'Go projects run their envtest suites on it unchanged: KUBEBUILDER_ASSETS="$(keelson envtest)" go test ./...',
  },
  parameters: {
    flags: {
      dir: { kind: "parsed", parse: String, brief: "The folder. Default: in the cache", optional: true },
    },
  },
  async func({ dir }) {
    const { privateCache } = await import("@keelson/machine");
    const { writeAssets } = await import("../envtest/assets.ts");
    const directory = dir === undefined ? join(privateCache(process.env), "envtest") : resolve(dir);
    const [launcher = ""] = process.argv.slice(1);
    writeAssets({ directory, command: [process.execPath, resolve(launcher)], env: process.env });
    this.process.stdout.write(`${directory}\n`);
  },
});
