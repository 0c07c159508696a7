/** `keelson build`: an OCI image of an operator, no daemon needed. */
import { buildCommand } from "@stricli/core";
import { progress } from "../progress.ts";

interface BuildFlags {
  readonly directory: string;
  readonly image?: string;
  readonly base: string;
  readonly output?: string;
}

/** The Node that builds is the Node that runs, and this machine can make an image of it. */
const ownNode = `node:${process.versions.node.split(".")[0]}`;

export const build = buildCommand<BuildFlags>({
  docs: { brief: "Build an operator's image as an OCI archive" },
  parameters: {
    flags: {
      directory: { kind: "parsed", parse: String, brief: "The operator's package", default: "." },
      image: { kind: "parsed", parse: String, brief: "Its name. Default: name:version", optional: true },
      base: { kind: "parsed", parse: String, brief: "An image with Node in it", default: ownNode },
      output: {
        kind: "parsed",
        parse: String,
        brief: "The archive. Default: NAME.oci.tar",
        optional: true,
      },
    },
  },
  async func({ base, directory, image, output }) {
    const [{ readProject }, { buildImage }, { writeFile }] = await Promise.all([
      import("../project.ts"),
      import("../build/build-image.ts"),
      import("node:fs/promises"),
    ]);
    const project = readProject(directory);
    const name = image ?? `${project.name}:${project.version}`;
    const path = output ?? `${project.name}.oci.tar`;
    const line = progress(this.process);
    const { archive, digest } = await buildImage(project, { image: name, base, onProgress: line.show });
    await writeFile(path, archive);
    line.end();
    const mebibytes = (archive.length / 2 ** 20).toFixed(0);
    this.process.stdout.write(`${name}  ${digest}\n${path}  ${mebibytes} MiB\n`);
  },
});
