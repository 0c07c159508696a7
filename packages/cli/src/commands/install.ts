/** `keelson install`: operators without code, as one Deployment of a cluster. */
import { buildCommand } from "@stricli/core";
import { progress } from "../progress.ts";
import { wholeNumber } from "../whole-number.ts";

interface InstallFlags {
  readonly file?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly image?: string;
  readonly replicas: number;
  readonly print: boolean;
  readonly archive?: string;
}

const text = (brief: string) => ({ kind: "parsed", parse: String, brief, optional: true }) as const;

export const install = buildCommand<InstallFlags>({
  docs: {
    brief: "Install graphs, hooks and plans as one Deployment",
    fullDescription:
      "Checks the definitions, applies them, and applies a Deployment whose role holds exactly what they and those of the cluster need. Run it again when definitions change.",
  },
  parameters: {
    flags: {
      file: text("File or folder with definitions. Default: those that the cluster has"),
      context: text("Context of the kubeconfig. Default: the current one, if its server is on this machine"),
      kubeconfig: text("File to use. Default: as kubectl"),
      namespace: {
        kind: "parsed",
        parse: String,
        brief: "Where the Deployment goes",
        default: "keelson-nocode",
      },
      image: text("The image that runs them. Default: keelson-nocode:VERSION"),
      replicas: {
        kind: "parsed",
        parse: wholeNumber({ min: 1, max: 9 }),
        brief: "Of which one works",
        default: "1",
      },
      print: { kind: "boolean", brief: "Print the objects as YAML and apply nothing", default: false },
      archive: text("Write the image to this file as an OCI archive, and do nothing else"),
    },
    aliases: { f: "file" },
  },
  async func({ file, namespace, image, replicas, print, archive, ...choice }) {
    const { applyInstallation, installation, nocodeProject, operatorName } = await import(
      "../nocode/install.ts"
    );
    const project = nocodeProject();
    const name = image ?? `${project.name}:${project.version}`;
    if (archive !== undefined) {
      const [{ buildImage }, { writeFile }] = await Promise.all([
        import("../build/build-image.ts"),
        import("node:fs/promises"),
      ]);
      const line = progress(this.process);
      const base = `node:${process.versions.node.split(".")[0]}`;
      const built = await buildImage(project, { image: name, base, onProgress: line.show });
      await writeFile(archive, built.archive);
      line.end();
      this.process.stdout.write(`${name}  ${built.digest}\n`);
      return;
    }
    const [{ chooseTarget }, { checkAnswers }, { connect }] = await Promise.all([
      import("../kubeconfig/target.ts"),
      import("../run/preflight.ts"),
      import("@keelson/client"),
    ]);
    const target = await chooseTarget(choice);
    const settings = choice.kubeconfig === undefined ? {} : { kubeconfig: choice.kubeconfig };
    const client = await connect({ context: target.context, ...settings });
    try {
      await checkAnswers(client, target);
      const options = { namespace, image: name, replicas, ...(file === undefined ? {} : { file }) };
      const wanted = await installation(client, options);
      for (const note of wanted.notes) this.process.stderr.write(`${note}\n`);
      if (print) {
        const { stringify } = await import("yaml");
        this.process.stdout.write(wanted.manifests.map((each) => stringify(each)).join("---\n"));
        return;
      }
      await applyInstallation(client, wanted);
      const { definitions = [], hooks = [], plans = [] } = wanted.files ?? {};
      const count = definitions.length + hooks.length + plans.length;
      this.process.stdout.write(
        `${count === 1 ? "1 definition" : `${count} definitions`} and the Deployment ${namespace}/${operatorName} are applied\n`,
      );
    } finally {
      await client.close();
    }
  },
});
