/** `keelson node`: joins nodes of this machine to a control plane. */
import { buildCommand } from "@stricli/core";

interface NodeFlags {
  readonly kubeconfig?: string;
  readonly bootstrapKubeconfig?: string;
  readonly name: string;
  readonly dataDir?: string;
}

function nodeName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(text)) return text;
  throw new RangeError("it must be of lower-case letters, digits, dashes and dots");
}

export const node = buildCommand<NodeFlags>({
  docs: { brief: "Run a node that joins an embedded or a real control plane" },
  parameters: {
    flags: {
      kubeconfig: {
        kind: "parsed",
        parse: String,
        brief: "Kubeconfig whose user the node is",
        optional: true,
      },
      bootstrapKubeconfig: {
        kind: "parsed",
        parse: String,
        brief: "Instead: kubeconfig with a bootstrap token, to ask for a certificate of the node's own",
        optional: true,
      },
      name: { kind: "parsed", parse: nodeName, brief: "Name of the node" },
      dataDir: { kind: "parsed", parse: String, brief: "Keep logs and volumes here", optional: true },
    },
  },
  async func(flags) {
    const { runNode } = await import("@keelson/node");
    process.exitCode = await runNode(flags);
  },
});
