/** `keelson build`: an OCI image of an operator, no daemon needed. */
import { buildCommand } from "@stricli/core";
import { ownNode } from "../build/own-node.ts";
import { directory, directoryAlias } from "../directory.ts";
import { type OutputFormat, output, print } from "../output.ts";
import { progress } from "../progress.ts";

interface BuildFlags {
  readonly directory: string;
  readonly image?: string;
  readonly base: string;
  readonly archive?: string;
  readonly load: boolean;
  readonly sbom?: string;
  readonly output?: OutputFormat;
}

export const build = buildCommand<BuildFlags>({
  docs: { brief: "Build an operator's image as an OCI archive" },
  parameters: {
    flags: {
      directory,
      image: { kind: "parsed", parse: String, brief: "Its name. Default: name:version", optional: true },
      base: { kind: "parsed", parse: String, brief: "An image with Node in it", default: ownNode },
      archive: {
        kind: "parsed",
        parse: String,
        brief: "The file. Default: NAME.oci.tar",
        optional: true,
      },
      load: {
        kind: "boolean",
        brief: "Put it into this machine's image store too, for the embedded cluster",
        default: false,
        withNegated: false,
      },
      sbom: {
        kind: "parsed",
        parse: String,
        brief: "Write its bill of materials (CycloneDX) to this file too",
        optional: true,
      },
      output,
    },
    aliases: directoryAlias,
  },
  async func({ archive: file, base, directory, image, load, output, sbom }) {
    const [{ readProject }, { buildImage }, { writeFile }] = await Promise.all([
      import("../project.ts"),
      import("../build/build-image.ts"),
      import("node:fs/promises"),
    ]);
    const project = readProject(directory);
    const name = image ?? `${project.name}:${project.version}`;
    const path = file ?? `${project.name}.oci.tar`;
    const line = progress(this.process);
    const built = await buildImage(project, { image: name, base, onProgress: line.show });
    const { archive, digest } = built;
    await writeFile(path, archive);
    if (sbom !== undefined) await writeFile(sbom, built.sbom);
    if (load) {
      const { loadImages } = await import("@keelson/images");
      await loadImages(path, { onProgress: line.show });
    }
    line.end();
    const sizeBytes = archive.length;
    if (output !== undefined) {
      return await print(this.process, { image: name, digest, archive: path, sizeBytes }, output);
    }
    const mebibytes = (sizeBytes / 2 ** 20).toFixed(0);
    this.process.stdout.write(`${name}  ${digest}\n${path}  ${mebibytes} MiB\n`);
  },
});
