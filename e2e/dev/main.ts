/**
 * `npm run e2e:dev`: how long a save takes under `keelson dev` until the operator works again, on the project of the
 * scaffold. The cluster has a resource to reconcile; one that is lost is a failure.
 */
import { appendFile, mkdtemp, rm, symlink } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as rest } from "node:timers/promises";
import { startDev } from "../../packages/cli/src/dev/dev.ts";
import type { DevEvent } from "../../packages/cli/src/dev/events.ts";
import { readProject } from "../../packages/cli/src/project.ts";
import { init } from "../../packages/cli/src/scaffold/init.ts";
import { fromRegistry } from "../../packages/cli/src/scaffold/packages.ts";
import { commandLine } from "../../scripts/command-line.ts";

/** A person does not save twice in this time, and the next process is warm after it. */
const BETWEEN_MS = 3_000;

const values = commandLine({
  command: "npm run e2e:dev",
  does: "How long a save takes under keelson dev until the operator works again, on the project of the scaffold.",
  options: { runs: { number: "N", default: 10, help: "saves" } },
});
const root = join(import.meta.dirname, "../..");
const work = await mkdtemp(join(tmpdir(), "keelson-reload-"));
process.env["KEELSON_STATE"] = join(work, "state");
const directory = join(work, "cache-operator");
const api = { group: "cache.example.com", version: "v1alpha1", kind: "Cache", template: "compose" } as const;
init({ directory, packages: fromRegistry("0.1.0"), ...api });
await symlink(join(root, "node_modules"), join(directory, "node_modules"));

let works = Promise.withResolvers<Extract<DevEvent, { type: "working" }>>();
let seen = 0;
const times: number[] = [];
const computed: number[] = [];
try {
  await using _ = await startDev({
    ...{ project: readProject(directory), name: "reload", nodes: 1, simulate: true, keep: false },
    apply: join(directory, "examples"),
    tell: (event) => {
      if (event.type === "working") works.resolve(event);
      if (event.type === "resource") seen++;
      if (event.type === "deleted" || event.type === "broken" || event.type === "ended") {
        works.reject(new Error(JSON.stringify(event)));
      }
    },
  });
  const { ms } = await works.promise;
  console.error(`started in ${ms.toFixed(0)} ms`);
  for (let run = 0; run < values.runs; run++) {
    await rest(BETWEEN_MS);
    works = Promise.withResolvers();
    const savedAt = performance.now();
    await appendFile(join(directory, "src/cache/controller.ts"), `// ${run}\n`);
    const { cpuMs } = await works.promise;
    times.push(performance.now() - savedAt);
    computed.push(cpuMs);
    console.error(`reloaded in ${times.at(-1)?.toFixed(0)} ms`);
  }
  if (seen === 0) throw new Error("the resource of the example was never seen");
} finally {
  await rm(work, { recursive: true, force: true });
}
times.sort((one, other) => one - other);
const median = (of: readonly number[]) =>
  of.toSorted((one, other) => one - other)[Math.floor(of.length / 2)] ?? 0;
const load = loadavg()[0]?.toFixed(1);
console.log(
  `save to working operator: median ${median(times).toFixed(0)} ms (of which ${median(computed).toFixed(0)} ms of processor time), longest ${times.at(-1)?.toFixed(0)} ms of ${times.length}; ` +
    `${availableParallelism()} cores, load ${load}`,
);
