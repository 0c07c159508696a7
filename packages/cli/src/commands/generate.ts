/** `keelson generate`: the manifests that install an operator, from its code. */
import { buildCommand } from "@stricli/core";
import { wholeNumber } from "../whole-number.ts";

interface GenerateFlags {
  readonly directory: string;
  readonly namespace?: string;
  readonly image?: string;
  readonly replicas: number;
  readonly crds: boolean;
  readonly output?: string;
}

export const generate = buildCommand<GenerateFlags>({
  docs: { brief: "Write CRDs, the exact role and the Deployment of an operator" },
  parameters: {
    flags: {
      directory: { kind: "parsed", parse: String, brief: "The operator's package", default: "." },
      namespace: {
        kind: "parsed",
        parse: String,
        brief: "Where it will run. Default: its name",
        optional: true,
      },
      image: { kind: "parsed", parse: String, brief: "Its image. Default: name:version", optional: true },
      replicas: {
        kind: "parsed",
        parse: wholeNumber({ min: 0, max: 100 }),
        brief: "One leads, the others stand by",
        default: "1",
      },
      crds: {
        kind: "boolean",
        brief: "Only the CRDs, for an operator that runs on your machine",
        default: false,
      },
      output: {
        kind: "parsed",
        parse: String,
        brief: "A file. Default: standard output",
        optional: true,
      },
    },
  },
  async func({ crds, directory, image, namespace, output, replicas }) {
    const [{ readProject, loadOperator }, { manifestsFor }, { stringify }] = await Promise.all([
      import("../project.ts"),
      import("../generate/manifests.ts"),
      import("yaml"),
    ]);
    const project = readProject(directory);
    const parts = await loadOperator(project);
    const manifests = crds
      ? parts.resources.map((resource) => resource.crd())
      : manifestsFor(project, parts, {
          namespace: namespace ?? project.name,
          image: image ?? `${project.name}:${project.version}`,
          replicas,
        });
    const text = manifests
      .map((manifest) => stringify(manifest, { aliasDuplicateObjects: false }))
      .join("---\n");
    if (output === undefined) this.process.stdout.write(text);
    else {
      const { writeFile } = await import("node:fs/promises");
      await writeFile(output, text);
    }
  },
});
