/** `keelson run`: a project's operator on this machine, against a cluster of a kubeconfig. */
import { buildCommand } from "@stricli/core";
import { directory, directoryAlias } from "../directory.ts";

interface RunFlags {
  readonly directory: string;
  readonly file?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly crds: boolean;
  readonly anyway: boolean;
  readonly webhookUrl?: string;
}

const text = (brief: string) => ({ kind: "parsed", parse: String, brief, optional: true }) as const;

export const run = buildCommand<RunFlags>({
  docs: {
    brief: "Run the operator, or one without code, against your kubeconfig",
    fullDescription: [
      "Runs the project's main module on this machine until Ctrl-C. A server that is",
      "not on this machine must be named with --context.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      directory,
      file: text("Run the graphs, hooks and plans of this file or folder instead of a package"),
      context: text("Context of the kubeconfig. Default: the current one, if its server is on this machine"),
      kubeconfig: text("File to use. Default: as kubectl"),
      crds: { kind: "boolean", brief: "Apply the operator's CRDs first", default: false },
      anyway: {
        kind: "boolean",
        brief: "Run it although the cluster runs the same operator",
        default: false,
        withNegated: false,
      },
      webhookUrl: text("Where the API server reaches its webhooks, as https://192.168.0.7:9443"),
    },
    aliases: { ...directoryAlias, f: "file" },
  },
  async func({ anyway, crds, directory, file, webhookUrl, ...choice }) {
    if (file !== undefined) {
      const { runFiles } = await import("../nocode/run.ts");
      process.exitCode = await runFiles(file, choice, (sentence) =>
        this.process.stderr.write(`${sentence}\n`),
      );
      return;
    }
    const [{ loadOperator, readProject }, { chooseTarget }, { mainOf, runToItsEnd }, checks, { connect }] =
      await Promise.all([
        import("../project.ts"),
        import("../kubeconfig/target.ts"),
        import("../run/operator-process.ts"),
        import("../run/preflight.ts"),
        import("@keelson/client"),
      ]);
    const project = readProject(directory);
    mainOf(project);
    const target = await chooseTarget(choice);
    const parts = await loadOperator(project);
    const client = await connect({
      context: target.context,
      ...(choice.kubeconfig === undefined ? {} : { kubeconfig: choice.kubeconfig }),
    });
    try {
      await checks.checkAnswers(client, target);
      if (!anyway) await checks.checkAlone(client, parts, target);
      if (crds) {
        const { install } = await import("@keelson/runtime");
        await checks.checkStored(client, parts);
        await install(client, parts.resources);
      } else await checks.checkKinds(client, parts, target);
      await checks.checkPermissions(client, parts, target);
    } finally {
      await client.close();
    }
    this.process.stderr.write(
      `${parts.name} runs against ${target.context} at ${target.server}; Ctrl-C ends it.\n`,
    );
    await runToItsEnd(project, parts.name, {
      ...target.env,
      ...(webhookUrl === undefined ? {} : { KEELSON_WEBHOOK_URL: webhookUrl }),
    });
  },
});
