/** The bill of materials of an image, in CycloneDX: every npm package, Node, and the packages of its base. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseJson } from "@keelson/core";
import type { Project } from "../project.ts";
import { closure } from "./packages.ts";

interface Component {
  readonly type: "library" | "platform" | "operating-system";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly object[];
}

/** Equal inputs give equal bytes: no times, and a serial number that follows from the contents. */
export function sbomOf(project: Project, rootfs: string): string {
  const components = [...npmComponents(project), ...platform(rootfs), ...debianComponents(rootfs)];
  const subject = { type: "application", name: project.name, version: project.version };
  const digest = createHash("sha256")
    .update(JSON.stringify([subject, components]))
    .digest("hex");
  return `${JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      serialNumber: `urn:uuid:${uuidOf(digest)}`,
      version: 1,
      metadata: {
        tools: { components: [{ type: "application", name: "keelson" }] },
        component: { ...subject, "bom-ref": npmUrl(project.name, project.version) },
      },
      components,
    },
    undefined,
    2,
  )}\n`;
}

/** Each package once, however often it is in the image. */
function npmComponents(project: Project): Component[] {
  const found = new Map<string, Component>();
  for (const directory of closure(project).values()) {
    const manifest = parseJson(readFileSync(join(directory, "package.json"), "utf8")) as {
      name?: string;
      version?: string;
      license?: unknown;
    };
    const { license, name = basename(directory), version = "0.0.0" } = manifest;
    const purl = npmUrl(name, version);
    found.set(purl, {
      ...{ type: "library", "bom-ref": purl, name, version, purl },
      ...(typeof license === "string" ? { licenses: [{ expression: license }] } : {}),
    });
  }
  return [...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

function npmUrl(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function platform(rootfs: string): Component[] {
  if (!["nodejs/bin/node", "usr/local/bin/node"].some((path) => existsSync(join(rootfs, path)))) return [];
  const { node: version } = process.versions;
  const purl = `pkg:generic/node@${version}`;
  return [{ type: "platform", "bom-ref": purl, name: "node", version, purl }];
}

/** As images without a package manager list theirs. */
function debianComponents(rootfs: string): Component[] {
  const folder = join(rootfs, "var/lib/dpkg/status.d");
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith(".md5sums")) : [];
  return files.sort().map((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1] ?? "";
    const [name, version] = [field("Package"), field("Version")];
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
    return { type: "library", "bom-ref": purl, name, version, purl };
  });
}

/** A version 8 identifier: its bits are the application's own. */
function uuidOf(hex: string): string {
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return [
    ...[hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`],
    ...[`${variant}${hex.slice(17, 20)}`, hex.slice(20, 32)],
  ].join("-");
}
