/** What Ginkgo's report says, by special interest group. */
import { parseJson } from "@keelson/core";

export interface SpecResult {
  /** As `network`. */
  readonly sig: string;
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly seconds: number;
  readonly message: string;
}

interface SpecReport {
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

/** The tests of a report that were not left out by its filter. */
export function readReport(text: string): SpecResult[] {
  const suites = parseJson(text) as unknown as { SpecReports?: SpecReport[] | null }[];
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter(({ LeafNodeType }) => LeafNodeType === "It")
    .filter(({ State, Failure }) => State !== "pending" && (State !== "skipped" || Failure?.Message))
    .map(({ ContainerHierarchyTexts, LeafNodeText, State, RunTime, Failure }) => {
      const name = [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(" ");
      return {
        sig: /\[sig-([a-z-]+)\]/.exec(name)?.[1] ?? "none",
        name: name.replace(/\[sig-[a-z-]+\] /, ""),
        state: State === "passed" ? "passed" : State === "skipped" ? "skipped" : "failed",
        seconds: RunTime / 1e9,
        message: Failure?.Message ?? "",
      };
    });
}

/** Later results of the same test stand for earlier ones. */
export function summarize(results: readonly SpecResult[]): string[] {
  const sigs = [...new Set(results.map(({ sig }) => sig))].sort();
  const count = (of: readonly SpecResult[], state: SpecResult["state"]) =>
    of.filter((result) => result.state === state).length;
  const row = (name: string, of: readonly SpecResult[]) =>
    [
      name.padEnd(18),
      ...[of.length, ...(["passed", "failed", "skipped"] as const).map((state) => count(of, state))].map(
        (n) => String(n).padStart(8),
      ),
    ].join("");
  return [
    `${"sig".padEnd(18)}${["total", "passed", "failed", "skipped"].map((word) => word.padStart(8)).join("")}`,
    ...sigs.map((sig) =>
      row(
        sig,
        results.filter((result) => result.sig === sig),
      ),
    ),
    row("all", results),
  ];
}
