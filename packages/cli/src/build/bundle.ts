/**
 * Programs of an operator's image, each as two files instead of hundreds: it starts with half the CPU. What a program imports
 * only when it needs it becomes a file of its own. The modules stay in the image too, for what is started by its path.
 */
import { isBuiltin } from "node:module";
import { dirname, extname, join, posix, resolve } from "node:path";
import { parseJson } from "@keelson/core";
import type { TarFile } from "@keelson/images/internal";
import type { OutputAsset, OutputChunk, Plugin } from "rolldown";
import { type BundleScope, imagePath, type Placed } from "./bundle-scope.ts";
import { CannotBundle, ownPlace, type Places, placed } from "./own-place.ts";
import { withoutTypes } from "./strip-types.ts";

/** Where all goes but the programs' own modules. */
const CHUNKS = "bundle";
const STACKS = join(import.meta.dirname, `in-image/mapped-stacks${extname(import.meta.filename)}`);
const ENTRY = "keelson:entry";

/**
 * Files of the image that the bundles consist of, their source maps among them: of the main module, and of each program that
 * the operator or a package of Keelson names in its package.json. A program lies where its module would.
 */
export async function bundles(
  scope: BundleScope,
  main: string,
  files: readonly TarFile[],
): Promise<TarFile[]> {
  const own = scope.bundled.flatMap((of) =>
    (of.manifest.keelson?.programs ?? []).map((path) => join(of.directory, path)),
  );
  const programs = [join(scope.own.directory, main), ...own];
  const paths = new Set([
    ...files.map(({ path }) => path),
    ...programs.map((each) => programPath(scope, each)),
  ]);
  const places: Places = {
    packageOf: (file) => scope.packageOf(file),
    isAuthors: (of) => of === scope.own || !scope.isNeededByKeelson(of),
    pathOf: (file) => {
      const path = imagePath(scope.packageOf(file) as Placed, file);
      const quick = withoutTypes(path);
      return (paths.has(quick) ? quick : path).slice("app/".length);
    },
  };
  const made = new Map<string, TarFile>();
  for (const program of programs) {
    const plugins = [entryOf(program), packagesOutside(scope), await ownPlace(places, program)];
    for (const file of await bundle(scope, program, plugins)) made.set(file.path, file);
  }
  return [...made.values()];
}

function programPath(scope: BundleScope, file: string): string {
  return withoutTypes(imagePath(scope.packageOf(file) as Placed, file));
}

async function bundle(scope: BundleScope, program: string, plugins: readonly Plugin[]): Promise<TarFile[]> {
  const cwd = scope.own.directory;
  // A native program of 20 MB, which only those who build need.
  const { rolldown } = await import("rolldown");
  try {
    await using build = await rolldown({
      input: { main: ENTRY },
      cwd,
      platform: "node",
      plugins: [...plugins],
      // A package may call itself free of side effects; a program and what its author imports still have to run.
      treeshake: {
        moduleSideEffects: (id) =>
          [STACKS, program].includes(id) || scope.packageOf(id) === scope.own || undefined,
      },
      // Comments would name folders of this machine.
      experimental: { attachDebugInfo: "none" },
      logLevel: "silent",
    });
    const { output } = await build.generate({
      dir: join(cwd, "app"),
      format: "esm",
      entryFileNames: programPath(scope, program).slice("app/".length),
      chunkFileNames: `${CHUNKS}/[name]-[hash].js`,
      // The program's own module is alone in its file: it awaits its end, and no other file may have to wait for that.
      codeSplitting: {
        groups: [{ name: "program", tags: ["$initial"], test: (id) => ![ENTRY, program].includes(id) }],
      },
      comments: { annotation: false, jsdoc: false, legal: true },
      sourcemap: true,
      sourcemapExcludeSources: true,
    });
    return output.map((each) => toFile(scope, each));
  } catch (cause) {
    if (cause instanceof CannotBundle) throw cause;
    throw new CannotBundle((cause as Error).message, { cause });
  }
}

/** Traces are mapped before anything can fail. */
function entryOf(program: string): Plugin {
  return {
    name: "keelson:entry",
    resolveId: (name) => (name === ENTRY ? { id: ENTRY, moduleSideEffects: true } : null),
    load: (id) =>
      id === ENTRY ? [STACKS, program].map((path) => `import ${JSON.stringify(path)};`).join("\n") : null,
  };
}

/** Imports of packages that stay as they are. */
function packagesOutside(scope: BundleScope): Plugin {
  return {
    name: "keelson:packages-outside",
    async resolveId(name, importer, options) {
      if (importer === undefined || !/^[a-z@]/i.test(name) || isBuiltin(name)) return null;
      const found = await this.resolve(name, importer, { ...options, skipSelf: true });
      if (found && !found.external) {
        if (scope.packageOf(found.id)) return found;
        if (scope.isHidden(name, found.id)) {
          throw new CannotBundle(`${importer} has a version of ${name} of its own`);
        }
      }
      return { id: name, external: true };
    },
  };
}

function toFile(scope: BundleScope, output: OutputChunk | OutputAsset): TarFile {
  const path = `app/${output.fileName}`;
  const text =
    output.type === "chunk"
      ? placed(output.code, output.fileName)
      : mapInImage(scope, path, String(output.source));
  return { path, type: "file", mode: 0o644, content: Buffer.from(text) };
}

/** A source map whose sources are files of the image. */
function mapInImage(scope: BundleScope, path: string, text: string): string {
  const map = parseJson(text) as { sources: string[]; sourcesContent?: unknown };
  const at = dirname(join(scope.own.directory, path));
  const sources = map.sources.map((source) => {
    const file = resolve(at, source);
    const holder = scope.packageOf(file);
    return holder ? posix.relative(posix.dirname(path), imagePath(holder, file)) : posix.basename(source);
  });
  return JSON.stringify({ ...map, sources, sourcesContent: undefined });
}
