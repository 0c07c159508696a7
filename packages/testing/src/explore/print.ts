/** Scenarios and reports as text. */

import type { Plan } from "./plan.ts";
import type { ExploreReport } from "./report.ts";
import type { TraceLine, Violation } from "./scene.ts";

/** A failing scenario as a test to paste. */
export function asTest(subject: string, plan: Plan, violation: Violation): string {
  const { beginning, seed, managers, lease, steps } = plan;
  const lines = steps.map((step) => `      ${JSON.stringify(step)},`);
  return [
    `test(${JSON.stringify(`seed ${seed}: ${violation.oracle}`)}, async () => {`,
    `  await replay(${subject}, {`,
    `    beginning: ${JSON.stringify(beginning)},`,
    `    seed: ${seed},`,
    ...(managers === undefined ? [] : [`    managers: ${managers},`]),
    ...(lease === undefined ? [] : [`    lease: ${lease},`]),
    "    steps: [",
    ...lines,
    "    ],",
    "  });",
    "});",
  ].join("\n");
}

/** The last things that happened before a failure. */
export function timeline({ trace }: { readonly trace: readonly TraceLine[] }, last = 60): string {
  return trace
    .slice(-last)
    .map(({ atMs, text }) => `${(atMs / 1_000).toFixed(1).padStart(8)} s  ${text}`)
    .join("\n");
}

/** The figures and the failures of an exploration as text: what `npm run explore` prints. */
export function formatReport(subject: string, report: ExploreReport): string {
  const { runs, cpuMs, virtualMs, writes, overlaps, states, oracles, failures } = report;
  const overlapping = [...overlaps].sort(([a], [b]) => a - b).map(([at, count]) => `${at}: ${count}`);
  const reasons = [...states].filter((state) => !state.includes(" / ")).sort();
  const seconds = (ms: number) => (ms / 1_000).toFixed(0);
  return [
    `${subject}: ${runs} scenarios, ${failures.length} failures`,
    `  ${((runs * 60_000) / cpuMs).toFixed(0)} runs per CPU-minute (${(cpuMs / runs).toFixed(0)} ms each), ${(virtualMs / 3_600_000).toFixed(1)} virtual hours, ${writes} writes of the operator`,
    `  disturbances under way at once, with the number of runs: ${overlapping.join(", ")}`,
    `  states reached: ${states.size - reasons.length} pairs of reason and disturbance, ${reasons.length} reasons (${reasons.join(", ")})`,
    `  slowest convergence ${seconds(report.slowestConvergenceMs)} s, longest outage ${seconds(report.longestOutageMs)} s of virtual time`,
    `  oracles checked: ${oracles.size}`,
    ...[...oracles].map((name) => `    ${name}`),
    ...failures.map(
      ({ violation, generated, plan, test, timeline: lines }) =>
        `\n── seed ${generated.seed}: ${violation.oracle}\n${violation.message}\n\n${generated.steps.length} steps were generated, ${plan.steps.length} are needed:\n\n${test}\n\n${lines}`,
    ),
  ].join("\n");
}
