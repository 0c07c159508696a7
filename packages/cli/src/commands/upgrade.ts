/** `keelson upgrade`: brings a project to the scaffold of this release. */
import { buildCommand } from "@stricli/core";
import { directory, directoryAlias } from "../directory.ts";
import { version } from "../version.ts";

interface UpgradeFlags {
  readonly directory: string;
  readonly packages?: string;
  readonly mark: boolean;
  readonly dryRun: boolean;
}

export const upgrade = buildCommand<UpgradeFlags>({
  docs: {
    brief: "Merge the scaffold of this release into a project",
    fullDescription: [
      "Merges three ways: what the project was made from, what it is now, and what",
      "this release would write. All files are written, or none.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      directory,
      packages: {
        kind: "parsed",
        parse: String,
        brief: "Folder with packed packages of Keelson. Default: as the project has them",
        optional: true,
      },
      mark: {
        kind: "boolean",
        brief: "Mark the places that both sides changed, as git does",
        default: false,
      },
      dryRun: { kind: "boolean", brief: "Write nothing", default: false },
    },
    aliases: directoryAlias,
  },
  async func({ directory, packages, ...options }) {
    const [{ readProject }, { upgrade }, { fromFolder, fromRegistry, folderOf }] = await Promise.all([
      import("../project.ts"),
      import("../upgrade/upgrade.ts"),
      import("../scaffold/packages.ts"),
    ]);
    const project = readProject(directory);
    const folder = packages ?? folderOf(project);
    const source = folder === undefined ? fromRegistry(version) : fromFolder(folder);
    const { files, from } = upgrade(project, { ...options, packages: source, version });
    const words = { updated: "merged", added: "made", yours: "left out", conflict: "marked" } as const;
    for (const { fields, path, state } of files) {
      if (state === "unchanged") continue;
      const note = fields ? `, where yours stand: ${fields.join(", ")}` : "";
      this.process.stdout.write(`  ${words[state]}  ${path}${note}\n`);
    }
    const changed = files.some(
      ({ state }) => state === "updated" || state === "added" || state === "conflict",
    );
    const done = options.dryRun ? "would come" : "came";
    this.process.stdout.write(
      changed
        ? `The project ${done} from the scaffold of ${from} to that of ${version}.${options.dryRun ? "" : " Run: npm install && npm run check && npm test"}\n`
        : `The project has the scaffold of ${version} already.\n`,
    );
  },
});
