/** Builds an operator's image without a daemon: a base with Node, and the operator with what it needs. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Images } from "@keelson/images";
import { type TarFile, writeTar } from "@keelson/images/internal";
import { operatorEnvironment, operatorFlags } from "@keelson/runtime/internal";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import { appFiles, withDirectories } from "./app-files.ts";
import { packedBase } from "./base-layer.ts";
import { bundles } from "./bundle.ts";
import { BundleScope } from "./bundle-scope.ts";
import { ociArchive } from "./oci.ts";
import { CannotBundle } from "./own-place.ts";
import { closure } from "./packages.ts";
import { sbomOf } from "./sbom.ts";
import { withoutTypes } from "./strip-types.ts";

/** What an image is built from, and its name. */
export interface BuildOptions {
  readonly image: string;
  /** An image with Node 22.19 or newer, by name. */
  readonly base: string;
  readonly onProgress?: (sentence: string) => void;
}

/** Builds an OCI image of an operator without a daemon. The same sources give the same digest. */
export async function buildImage(project: Project, options: BuildOptions) {
  if (!existsSync(join(project.directory, project.main))) {
    throw new CliError(
      "NoOperator",
      `${join(project.directory, project.main)} does not exist; it is what the image runs`,
    );
  }
  const names = Object.keys(project.dependencies);
  if (!names.some((name) => name === "keelson" || name.startsWith("@keelson/"))) {
    throw new CliError(
      "NotInstalled",
      "keelson is not among the dependencies in package.json, and the image holds no others; " +
        "run: npm install --save-prod keelson",
    );
  }
  const { base, image, onProgress = () => {} } = options;
  onProgress(`taking ${base} as the base`);
  const images = new Images({ onProgress });
  const resolved = (await images.find(base)) ?? (await images.pull(base));
  const { config } = resolved;
  const packed = await packedBase(resolved);
  onProgress("packing the operator and its packages");
  const sbom = sbomOf(project, resolved.rootfs);
  const modules = appFiles(project);
  const bundled = await bundledPrograms(project, modules, onProgress);
  const files = [
    ...modules,
    ...bundled,
    { path: SBOM_PATH, type: "file", mode: 0o644, content: Buffer.from(sbom) } as const,
  ];
  const quick = withoutTypes(project.main);
  const main = files.some(({ path }) => path === `app/${quick}`) ? quick : project.main;
  const app = writeTar(withDirectories(files));
  onProgress("writing the image");
  const written = ociArchive({
    name: image,
    layers: [packed, app],
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    config: {
      Entrypoint: [nodeIn(config.entrypoint), ...linkFlags, ...operatorFlags, main],
      Env: [...config.env, "NODE_ENV=production", ...settings],
      WorkingDir: "/app",
      User: "65532:65532",
      Labels: {
        "org.opencontainers.image.title": project.name,
        "org.opencontainers.image.version": project.version,
      },
    },
  });
  return { ...written, sbom };
}

/** Nothing where a program must stay as its modules, which is told. */
async function bundledPrograms(
  project: Project,
  modules: readonly TarFile[],
  onProgress: (sentence: string) => void,
): Promise<TarFile[]> {
  try {
    return await bundles(new BundleScope(project.directory, closure(project)), project.main, modules);
  } catch (error) {
    if (!(error instanceof CannotBundle)) throw error;
    onProgress(`the operator starts slower, as its modules are not bundled: ${error.message}`);
    return [];
  }
}

const settings = Object.entries(operatorEnvironment).map(([name, value]) => `${name}=${value}`);

/** An image has no links among its files: Node need not look for them at each of hundreds of modules. */
const linkFlags = ["--preserve-symlinks", "--preserve-symlinks-main"] as const;

/** Where an image has its own bill of materials. */
const SBOM_PATH = "app/sbom.cdx.json";

/** Some images have Node where no PATH leads. */
function nodeIn(entrypoint: readonly string[]): string {
  const [program = ""] = entrypoint;
  return program.startsWith("/") && program.endsWith("/node") ? program : "node";
}
