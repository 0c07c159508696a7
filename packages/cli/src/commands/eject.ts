/** `keelson eject`: an operator without code, as one in TypeScript. */
import { buildCommand } from "@stricli/core";
import { directory, directoryAlias } from "../directory.ts";
import { left, said } from "./written.ts";

interface EjectFlags {
  readonly file: string;
  readonly directory: string;
  readonly context?: string;
  readonly kubeconfig?: string;
}

const text = (brief: string) => ({ kind: "parsed", parse: String, brief, optional: true }) as const;

export const eject = buildCommand<EjectFlags>({
  docs: {
    brief: "Turn a graph or a composite into a TypeScript controller",
    fullDescription:
      "Writes the resource and its controller into a project. Kinds are those that Kubernetes has and those whose CustomResourceDefinitions lie beside the definitions; for others, name a cluster that has them.",
  },
  parameters: {
    flags: {
      file: { kind: "parsed", parse: String, brief: "File or folder with definitions" },
      directory,
      context: text("A context of the kubeconfig whose cluster has the kinds"),
      kubeconfig: text("File to use. Default: as kubectl"),
    },
    aliases: { ...directoryAlias, f: "file" },
  },
  async func({ file, directory, ...choice }) {
    const [{ readProject }, { eject: write }, { kindsOf }] = await Promise.all([
      import("../project.ts"),
      import("../eject/eject.ts"),
      import("../eject/kinds.ts"),
    ]);
    const project = readProject(directory);
    await using kinds = await kindsOf(choice);
    const result = await write({ file, project, client: kinds.client });
    said(this.process, result);
    left(this.process, project.entry, result.left);
    for (const note of result.notes) this.process.stdout.write(`\n${note}\n`);
    if (result.made.includes("package.json")) {
      this.process.stdout.write("\nIt needs another package: npm install\n");
    }
  },
});
