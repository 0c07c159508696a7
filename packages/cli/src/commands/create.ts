/** `keelson create api`: another resource in a project. */
import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Template } from "../scaffold/api-files.ts";
import { template } from "./init.ts";
import { said } from "./written.ts";

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
      directory: { kind: "parsed", parse: String, brief: "The operator's package", default: "." },
    },
  },
  async func({ directory, ...options }) {
    const [{ readProject }, { createApi }] = await Promise.all([
      import("../project.ts"),
      import("../scaffold/create-api.ts"),
    ]);
    const project = readProject(directory);
    const created = createApi(project, options);
    said(this.process, created);
    if (created.left.length > 0) {
      this.process.stdout.write(
        `\n${project.entry} has a form of its own; add to it:\n\n${created.left.map((line) => `  ${line}\n`).join("")}`,
      );
    }
  },
});

export const create = buildRouteMap({ routes: { api }, docs: { brief: "Add to a project" } });
