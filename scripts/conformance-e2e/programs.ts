/** The programs of the upstream conformance suite, built with Go into the cache, once per version. */
import { spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type KubernetesLine, kubernetesRelease, referenceDirectory } from "../../reference/releases.ts";

export interface SuitePrograms {
  /** Kubernetes' version, as `1.36.4`. */
  readonly version: string;
  readonly directory: string;
  path(name: ProgramName): string;
}

export type ProgramName = "ginkgo" | "e2e.test" | "agnhost" | "kube-sample-apiserver";

const packages: Readonly<Record<ProgramName, string>> = {
  ginkgo: "github.com/onsi/ginkgo/v2/ginkgo",
  agnhost: "k8s.io/kubernetes/test/images/agnhost",
  "kube-sample-apiserver": "k8s.io/sample-apiserver",
  "e2e.test": "k8s.io/kubernetes/test/e2e",
};

export interface BuildOptions {
  /** A checkout to build from. Default: the published modules, of the version that `reference/` has. */
  readonly checkout?: string;
  /** Which of them. Default: the one that the embedded cluster follows. */
  readonly line?: KubernetesLine;
  readonly say: (sentence: string) => void;
}

export async function buildPrograms({ checkout, line, say }: BuildOptions): Promise<SuitePrograms> {
  const release = kubernetesRelease(line);
  const version = checkout ? await versionOf(checkout) : release.version;
  const directory = join(referenceDirectory(process.env), `conformance-${version}`, "bin");
  mkdirSync(directory, { recursive: true });
  const absent = (Object.keys(packages) as ProgramName[]).filter(
    (name) => !existsSync(join(directory, name)),
  );
  if (absent.length > 0) {
    const work = mkdtempSync(join(referenceDirectory(process.env), ".building-"));
    try {
      const module = checkout ?? moduleIn(work, release.moduleDirectory);
      for (const name of absent) {
        say(`building ${name}`);
        const made = join(work, name);
        await go(
          [
            ...(name === "e2e.test" ? ["test", "-c", "-vet=off"] : ["build"]),
            ...["-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(version), "-o", made],
            packages[name],
          ],
          module,
          checkout === undefined,
        );
        renameSync(made, join(directory, name));
      }
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  return { version, directory, path: (name) => join(directory, name) };
}

/** A module of its own with the versions that the reference has; Go adds the sums of what only the suite needs. */
function moduleIn(work: string, reference: string): string {
  const goMod = readFileSync(join(reference, "go.mod"), "utf8").replace(/^tool \([\s\S]*?^\)/m, "");
  const tools = Object.entries(packages)
    .filter(([name]) => name !== "e2e.test")
    .map(([, path]) => `\t${path}`);
  writeFileSync(join(work, "go.mod"), `${goMod}\ntool (\n${tools.join("\n")}\n)\n`);
  copyFileSync(join(reference, "go.sum"), join(work, "go.sum"));
  return work;
}

function linkerFlags(version: string): string {
  const [major, minor] = version.split(".");
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor, gitTreeState: "clean" };
  const settings = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) =>
    Object.entries(values).map(([name, value]) => `-X ${path}.${name}=${value}`),
  );
  return ["-s -w", ...settings].join(" ");
}

async function versionOf(checkout: string): Promise<string> {
  const described = await output("git", ["describe", "--tags", "--match", "v*"], checkout);
  return described.trim().replace(/^v/, "");
}

async function go(args: readonly string[], cwd: string, ownModule: boolean): Promise<void> {
  const { GOOS: _o, GOARCH: _a, GOFLAGS = "", ...env } = process.env;
  const flags = ownModule ? `${GOFLAGS} -mod=mod`.trim() : GOFLAGS;
  await output("go", args, cwd, { ...env, CGO_ENABLED: "0", GOWORK: ownModule ? "off" : "", GOFLAGS: flags });
}

/** What a command printed; rejects with all it said. */
export function output(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (said.err += text));
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Error(`cannot run ${command}: ${error.message}`)));
    child.once("close", (code) =>
      code === 0
        ? resolve(said.out)
        : reject(new Error(`${command} ${args[0]} ended with ${code}:\n${said.err}${said.out}`)),
    );
  });
}
