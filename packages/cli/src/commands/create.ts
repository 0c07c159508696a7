/** `keelson create api|version|webhook`: additions to a project. */
import { buildCommand, buildRouteMap } from "@stricli/core";
import { directory, directoryAlias } from "../directory.ts";
import type { Template } from "../scaffold/templates.ts";
import { template } from "./init.ts";
import { left, said } from "./written.ts";

interface CreateApiFlags {
  readonly kind: string;
  readonly group?: string;
  readonly version: string;
  readonly template: Template;
  readonly directory: string;
}

const api = buildCommand<CreateApiFlags>({
  docs: { brief: "Add a resource with its controller, test and example" },
  parameters: {
    flags: {
      kind: { kind: "parsed", parse: String, brief: "Its kind, such as EtcdCluster" },
      group: {
        kind: "parsed",
        parse: String,
        brief: "Its group. Default: that of the first resource",
        optional: true,
      },
      version: { kind: "parsed", parse: String, brief: "Its version", default: "v1alpha1" },
      template,
      directory,
    },
    aliases: directoryAlias,
  },
  async func({ directory, ...options }) {
    const [{ readProject }, { createApi }] = await Promise.all([
      import("../project.ts"),
      import("../scaffold/create-api.ts"),
    ]);
    const project = readProject(directory);
    const created = createApi(project, options);
    said(this.process, created);
    left(this.process, project.entry, created.left);
    if (created.made.includes("package.json")) {
      this.process.stdout.write("\nIt needs another package: npm install\n");
    }
  },
});

interface CreateVersionFlags {
  readonly kind: string;
  readonly version: string;
  readonly directory: string;
}

const kind = { kind: "parsed", parse: String, brief: "The resource's kind" } as const;

const version = buildCommand<CreateVersionFlags>({
  docs: { brief: "Add a version to a resource, with conversions and their test" },
  parameters: {
    flags: {
      kind,
      version: { kind: "parsed", parse: String, brief: "The new version, such as v1beta1" },
      directory,
    },
    aliases: directoryAlias,
  },
  async func({ directory, ...options }) {
    const [{ readProject }, { createVersion }] = await Promise.all([
      import("../project.ts"),
      import("../scaffold/create-version.ts"),
    ]);
    const created = createVersion(readProject(directory), options);
    said(this.process, created);
    if (created.stored === undefined) return;
    this.process.stdout.write(
      `\n${options.version} begins as a copy: edit its schema and its two conversions. Objects stay stored as ${created.stored};\n` +
        `set storage to "${options.version}" in a later release, when no cluster runs the one before this.\n`,
    );
  },
});

const webhook = buildCommand<Omit<CreateVersionFlags, "version">>({
  docs: { brief: "Add a webhook that validates and completes a resource, with its test" },
  parameters: { flags: { kind, directory }, aliases: directoryAlias },
  async func({ directory, kind }) {
    const [{ readProject }, { createWebhook }] = await Promise.all([
      import("../project.ts"),
      import("../scaffold/create-webhook.ts"),
    ]);
    const project = readProject(directory);
    const created = createWebhook(project, kind);
    said(this.process, created);
    left(this.process, project.entry, created.left);
  },
});

export const create = buildRouteMap({
  routes: { api, version, webhook },
  docs: { brief: "Add to a project" },
});
