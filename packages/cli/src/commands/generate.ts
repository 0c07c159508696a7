/** `keelson generate`: everything that installs an operator, from its code. */
import { buildCommand } from "@stricli/core";
import { directory, directoryAlias } from "../directory.ts";
import { type OutputFormat, output } from "../output.ts";
import { wholeNumber } from "../whole-number.ts";

interface GenerateFlags {
  readonly directory: string;
  readonly namespace?: string;
  readonly image?: string;
  readonly replicas?: number;
  readonly to?: string;
  readonly check: boolean;
  readonly crds: boolean;
  readonly output?: OutputFormat;
}

export const generate = buildCommand<GenerateFlags>({
  docs: { brief: "Write manifests, kustomize base, chart and bundle of an operator" },
  parameters: {
    flags: {
      directory,
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
        brief: "One leads, the others stand by. Default: 2",
        optional: true,
      },
      to: {
        kind: "parsed",
        parse: String,
        brief: "The folder. Default: deploy in the package",
        optional: true,
      },
      check: {
        kind: "boolean",
        brief: "Write nothing; fail when a file is not current",
        default: false,
        withNegated: false,
      },
      crds: {
        kind: "boolean",
        brief: "Print the CRDs alone, for an operator that runs on your machine",
        default: false,
        withNegated: false,
      },
      output: { ...output, brief: "Print the manifests in place of files" },
    },
    aliases: directoryAlias,
  },
  async func({ check, crds, directory, output, to, ...options }) {
    const [{ join, relative, resolve }, { readProject, loadOperator }, { siteOf }] = await Promise.all([
      import("node:path"),
      import("../project.ts"),
      import("../generate/project-site.ts"),
    ]);
    const project = readProject(directory);
    const parts = await loadOperator(project);
    const site = siteOf(project, parts, options);
    if (crds || output !== undefined) {
      const { inOrder, installationOf } = await import("../generate/manifests.ts");
      const { printManifests } = await import("../generate/print.ts");
      const manifests = crds
        ? parts.resources.map((resource) => resource.crd())
        : inOrder(installationOf(parts, site), site.values);
      this.process.stdout.write(printManifests(manifests, output ?? "yaml"));
      return;
    }
    const { differences, generatedFiles, refuseStale, writeGenerated } = await import(
      "../generate/generated-files.ts"
    );
    const folder = to === undefined ? join(project.directory, "deploy") : resolve(to);
    const shown = to ?? (directory === "." ? relative(process.cwd(), folder) : join(directory, "deploy"));
    const files = generatedFiles(project, parts, { site, folder });
    const found = differences(folder, files);
    const rows: [string, readonly string[]][] = [
      [check ? "missing" : "made", found.missing],
      [check ? "stale" : "changed", found.changed],
      [check ? "left" : "removed", found.left],
    ];
    const lines = rows.flatMap(([what, paths]) => paths.map((path) => `  ${what}  ${join(shown, path)}`));
    if (check) refuseStale(shown, lines);
    else writeGenerated(folder, files, found);
    for (const line of lines) this.process.stdout.write(`${line}\n`);
    const state = lines.length === 0 ? "is current" : "is written";
    this.process.stdout.write(`${shown} ${state}: ${files.size} files.\n`);
  },
});
