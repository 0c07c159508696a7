// `npm run reference:differences -- 1.36 1.37`: what two releases serve differently, from the documents in their modules.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine } from "../../scripts/command-line.ts";
import { asList, asMap, asString, type Json, type JsonMap } from "../generate/json.ts";
import { kubernetesLine, kubernetesLines, kubernetesRelease, type Release } from "../releases.ts";
import { compare, report, type Served } from "./compare.ts";

const [from = kubernetesLines[0], to = kubernetesLines.at(-1) ?? ""] = commandLine({
  command: "npm run reference:differences",
  does: `What two releases of Kubernetes serve differently, from the documents in their Go modules: ${kubernetesLines.join(", ")}.`,
  words: "[FROM [TO]]",
}).words;
const before = kubernetesRelease(kubernetesLine(from));
const after = kubernetesRelease(kubernetesLine(to));
const lines = report([before.version, after.version], compare(servedBy(before), servedBy(after)));
console.log(lines.join("\n"));

/** The module carries the server's own documents, with the kinds of every stage; nothing has to be built. */
function servedBy(release: Release): Served {
  const text = execFileSync("go", ["mod", "download", "-json", `${release.module}@v${release.version}`], {
    cwd: release.moduleDirectory,
    encoding: "utf8",
  });
  const folder = join(asString(asMap(JSON.parse(text) as Json, "the module").Dir, "its directory"), "api");
  const resources = new Set<string>();
  for (const document of documentsIn(join(folder, "discovery"))) {
    if (document.kind !== "APIResourceList") continue;
    for (const resource of asList(document.resources, "resources"))
      resources.add(`${document.groupVersion} ${asString(asMap(resource, "resource").name, "name")}`);
  }
  const definitions = new Map<string, JsonMap>();
  for (const document of documentsIn(join(folder, "openapi-spec", "v3"))) {
    const components = asMap(document.components ?? {}, "components");
    for (const [name, schema] of Object.entries(asMap(components.schemas ?? {}, "schemas")))
      definitions.set(name, asMap(schema, name));
  }
  return { resources, definitions };
}

function documentsIn(folder: string): JsonMap[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.map((name) => asMap(JSON.parse(readFileSync(join(folder, name), "utf8")) as Json, name));
}
