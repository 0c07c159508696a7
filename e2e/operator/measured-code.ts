/** Of which code a measurement is. */
import { execFileSync } from "node:child_process";

/**
 * The commit that last changed the code. A plus sign stands for changes that are not committed. Results that lie beside the
 * code are no part of it.
 */
export function measuredCode(): string {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const code = ["--", ":/packages", ":/operators", ":/e2e", ":(top,exclude)e2e/*/results/*"];
  const changes = git("status", "--porcelain", ...code);
  return `${git("log", "-1", "--abbrev=8", "--format=%h", ...code)}${changes === "" ? "" : "+"}`;
}
