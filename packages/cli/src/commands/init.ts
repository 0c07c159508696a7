/** `keelson init` and `npm create keelson`: an operator of one's own, in a new folder. */
import { buildCommand } from "@stricli/core";
import { progress } from "../progress.ts";
import { type Template, templates } from "../scaffold/templates.ts";
import { version as keelsonVersion } from "../version.ts";
import { said } from "./written.ts";

interface InitFlags {
  readonly kind?: string;
  readonly group?: string;
  readonly version: string;
  readonly template: Template;
  readonly packages?: string;
  readonly install: boolean;
  readonly yes: boolean;
}

const text = (brief: string) => ({ kind: "parsed", parse: String, brief, optional: true }) as const;

export const template = {
  kind: "enum",
  values: templates,
  brief: "How its controller begins",
  default: "compose",
} as const;

export const init = buildCommand<InitFlags, [string?]>({
  docs: { brief: "Make an operator of your own in a new folder" },
  parameters: {
    flags: {
      kind: text("Its first kind. Default: after the folder's name"),
      group: text("The kind's group. Default: NAME.example.com"),
      version: { kind: "parsed", parse: String, brief: "The kind's version", default: "v1alpha1" },
      template,
      packages: text("Folder with packed packages of Keelson, in place of the registry"),
      install: { kind: "boolean", brief: "Install its packages", default: true },
      yes: { kind: "boolean", brief: "Ask nothing: take the defaults", default: false },
    },
    aliases: { y: "yes" },
    positional: {
      kind: "tuple",
      parameters: [
        {
          parse: String,
          brief: "The folder; its name is the operator's",
          placeholder: "folder",
          optional: true,
        },
      ],
    },
  },
  async func({ group, install, kind, packages, template, version, yes }, folder) {
    const [{ asker }, names, { init, kindOf, nameOf }, { fromFolder, fromRegistry }] = await Promise.all([
      import("../prompt.ts"),
      import("../scaffold/names.ts"),
      import("../scaffold/init.ts"),
      import("../scaffold/packages.ts"),
    ]);
    const source = packages === undefined ? fromRegistry(keelsonVersion) : fromFolder(packages);
    const ask = asker(this.process, yes);
    const directory =
      folder ??
      (await ask({ about: "Name of the operator", usual: "my-operator", check: names.projectName }));
    const name = nameOf(directory);
    const before = kindOf(directory);
    const chosenKind =
      kind ??
      before?.kind ??
      (await ask({ about: "Its first kind", usual: names.guessedKind(name), check: names.kindName }));
    const chosenGroup =
      group ??
      before?.group ??
      (await ask({ about: "The kind's group", usual: names.guessedGroup(name), check: names.groupName }));
    const written = init({
      directory,
      kind: chosenKind,
      group: chosenGroup,
      version,
      template,
      packages: source,
    });
    said(this.process, written);
    const { installPackages, managerOf } = await import("../scaffold/install.ts");
    const manager = managerOf(process.env["npm_config_user_agent"]);
    if (install) {
      const line = progress(this.process);
      line.show("installing packages");
      await installPackages(directory, manager).finally(line.end);
    }
    const steps = [
      `cd ${directory}`,
      ...(install ? [] : [`${manager} install`]),
      `${manager} test`,
      "npx keelson dev",
    ];
    this.process.stdout.write(`\n${name} is ready:\n\n${steps.map((step) => `  ${step}\n`).join("")}`);
  },
});
