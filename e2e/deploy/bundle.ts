/** The bundle and the catalog under the programs of the operator framework, where they are on the PATH. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findOnPath } from "@keelson/images/internal";
import { keelson, type Setting } from "./setting.ts";

const run = promisify(execFile);

export async function bundleRow({ project, scratch }: Setting): Promise<string> {
  const [verify, opm] = ["operator-verify", "opm"].map((name) => findOnPath(name, process.env));
  if (verify === undefined && opm === undefined)
    return "skipped: neither operator-verify nor opm is on the PATH";
  const folder = join(scratch, "bundle-deploy");
  await keelson("generate", "--directory", project.directory, "--to", folder);
  const used: string[] = [];
  if (verify !== undefined) {
    const { stderr } = await run(verify, ["manifests", join(folder, "bundle/manifests")]);
    if (stderr.trim() !== "") throw new Error(stderr.trim());
    used.push("operator-verify");
  }
  if (opm !== undefined) {
    await run(opm, ["validate", join(folder, "catalog")]);
    used.push("opm validate");
  }
  return used.join(", ");
}
