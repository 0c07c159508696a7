/** `keelson check`: what would break users of an operator, or surprise them. */
import { buildCommand } from "@stricli/core";
import { directory, directoryAlias } from "../directory.ts";
import { type OutputFormat, output, print } from "../output.ts";

interface CheckFlags {
  readonly directory: string;
  readonly against?: string;
  readonly strict: boolean;
  readonly output?: OutputFormat;
}

export const check = buildCommand<CheckFlags>({
  docs: { brief: "Find what breaks users of an operator, before they do" },
  parameters: {
    flags: {
      directory,
      against: {
        kind: "parsed",
        parse: String,
        brief: "The last release: a git revision or a path. Default: the newest tag",
        optional: true,
      },
      strict: { kind: "boolean", brief: "Warnings fail too", default: false, withNegated: false },
      output,
    },
    aliases: directoryAlias,
  },
  async func({ against, directory, output, strict }) {
    const [{ readProject, loadOperator }, { siteOf }, { lackOf, lastRelease }, { check }, { showFinding }] =
      await Promise.all([
        import("../project.ts"),
        import("../generate/project-site.ts"),
        import("../check/release.ts"),
        import("../check/check.ts"),
        import("../check/finding.ts"),
      ]);
    const project = readProject(directory);
    const parts = await loadOperator(project);
    const release = lastRelease(project.directory, against);
    const findings = await check(project, parts, { site: siteOf(project, parts, {}), release });
    const count = (severity: string) => findings.filter((each) => each.severity === severity).length;
    const [errors, warnings] = [count("error"), count("warning")];
    if (output !== undefined) await print(this.process, { release: release?.name ?? null, findings }, output);
    else {
      for (const finding of findings) this.process.stdout.write(showFinding(finding));
      const crds = release?.crds.length ?? 0;
      let compared = "there is no release to compare with (--against)";
      if (release && crds === 0) compared = `nothing to compare with: ${lackOf(release)}`;
      else if (release) compared = `compared with ${release.name} (${crds} CRD${crds === 1 ? "" : "s"})`;
      this.process.stdout.write(`${errors} errors, ${warnings} warnings; ${compared}\n`);
    }
    if (errors > 0 || (strict && warnings > 0)) process.exitCode = 1;
  },
});
