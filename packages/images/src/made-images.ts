/** Makes the images of `recipes.ts` on demand and keeps them in the cache, one directory per version. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseJson } from "@keelson/core";
import { cacheDirectory, type Environment, makeOnce, privateCache, runCommand } from "@keelson/machine";
import { linkApplets, makeDebianBase, makeSkeleton } from "./base-root.ts";
import {
  cacheOptions,
  candidateVersion,
  type DebianPackage,
  type DebianRelease,
  ensurePackageLists,
  fetchPackages,
  findOnPath,
  hasApt,
  unpackPackages,
  upstreamVersion,
} from "./debian.ts";
import { ImageError } from "./errors.ts";
import type { ImageOrigin, ResolvedImage } from "./image.ts";
import { copyProgram } from "./machine-program.ts";
import { basePackages, baseRevision, configOf, type Recipe, recipes, scriptDependencies } from "./recipes.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  repositoryName,
} from "./reference.ts";
import { RootDirectory } from "./root-directory.ts";
import { compareVersions, tagAccepts } from "./version-tag.ts";

export interface MadeImagesOptions {
  readonly env?: Environment;
  readonly onProgress?: (sentence: string) => void;
}

/** One version of one recipe that this machine has or can make. */
interface Candidate {
  readonly version: string;
  readonly origin: Extract<ImageOrigin, "packages" | "machine" | "reference">;
  /** Of packages: another release than the machine's own. */
  readonly release?: DebianRelease;
  /** For `reference`: the directory of its programs. */
  readonly directory?: string;
}

/** What is written beside a made root file system. */
interface MadeRecord {
  readonly version: string;
  readonly origin: Candidate["origin"];
  readonly release?: DebianRelease;
  readonly id: string;
  readonly sizeBytes: number;
}

/** The recipe that answers to a repository name. */
export function recipeFor(reference: ImageReference): Recipe | undefined {
  return recipes.find((recipe) => recipe.repositories.includes(repositoryName(reference)));
}

export class MadeImages {
  readonly #env: Environment;
  readonly #onProgress: ((sentence: string) => void) | undefined;

  constructor(options: MadeImagesOptions = {}) {
    this.#env = options.env ?? process.env;
    this.#onProgress = options.onProgress;
  }

  /** Resolves a reference that a recipe answers to; throws `ImageNotFound` when no version fits its tag. */
  async resolve(recipe: Recipe, reference: ImageReference): Promise<ResolvedImage> {
    const suits = (candidate: Candidate) => fits(recipe, reference, candidate);
    const here = await this.#candidates(recipe, "cheap");
    const chosen =
      newest(here.filter(suits)) ??
      newest((await this.#candidates(recipe, "all")).filter(suits)) ??
      newest((await this.#elsewhere(recipe)).filter(suits));
    if (chosen !== undefined) return await this.#make(recipe, chosen, reference);
    throw await this.#notFound(recipe, reference);
  }

  /** The image if it is made already; nothing is downloaded. */
  async find(recipe: Recipe, reference: ImageReference): Promise<ResolvedImage | undefined> {
    const chosen = newest(this.#made(recipe).filter((candidate) => fits(recipe, reference, candidate)));
    return chosen === undefined ? undefined : await this.#make(recipe, chosen, reference);
  }

  /** Every image made so far. */
  async all(): Promise<ResolvedImage[]> {
    const made = recipes.flatMap((recipe) => this.#made(recipe).map((candidate) => ({ recipe, candidate })));
    return await Promise.all(
      made.map(({ recipe, candidate }) => {
        const name = `${recipe.repositories[0]}:${candidate.version}`;
        return this.#make(recipe, candidate, parseImageReference(name));
      }),
    );
  }

  /** Versions this machine has or can make, newest first. */
  async versions(recipe: Recipe): Promise<string[]> {
    const all = [...(await this.#candidates(recipe, "all")), ...(await this.#elsewhere(recipe))];
    return [...new Set(all.map(({ version }) => version))].sort((a, b) => compareVersions(b, a));
  }

  async #notFound(recipe: Recipe, reference: ImageReference): Promise<ImageError> {
    const versions = await this.versions(recipe);
    const wanted = formatImageReference(reference);
    const offer =
      versions.length > 0
        ? `this machine can provide ${recipe.name} ${versions.join(", ")}: use that tag`
        : `this machine has no ${recipe.name} and no package source for it: install it`;
    return new ImageError(
      "ImageNotFound",
      `${wanted} is not in the image store; ${offer}, or load the image with "keelson image load FILE"`,
    );
  }

  /** `cheap` looks at the cache and the reference builds only; `all` also asks apt and the PATH. */
  async #candidates(recipe: Recipe, effort: "cheap" | "all"): Promise<Candidate[]> {
    if (recipe.versionPackage === "") {
      return [{ version: process.versions.node, origin: hasApt(this.#env) ? "packages" : "machine" }];
    }
    const found: Candidate[] = this.#made(recipe);
    if (recipe.name === "etcd") found.push(...this.#referenceEtcd());
    if (effort === "cheap") return found;
    const packaged = await this.#packagedVersion(recipe);
    if (packaged !== undefined) found.push({ version: packaged, origin: "packages" });
    else found.push(...(await this.#onMachine(recipe)));
    return found;
  }

  #made(recipe: Recipe): Candidate[] {
    const home = join(this.#home(), recipe.name);
    if (!existsSync(home)) return [];
    const suffix = fingerprint(recipe);
    return readdirSync(home)
      .filter((name) => name.endsWith(`-${suffix}`) && !name.startsWith("."))
      .map((name) => parseJson(readFileSync(join(home, name, "image.json"), "utf8")) as unknown as MadeRecord)
      .map(({ version, origin, release }) => ({ version, origin, ...(release && { release }) }));
  }

  /** The version that another release of Debian has, for tags that the machine's own does not fit. */
  async #elsewhere(recipe: Recipe): Promise<Candidate[]> {
    if (recipe.versionPackage === "" || recipe.anyTag) return [];
    const version = await this.#packagedVersion(recipe, otherRelease);
    return version === undefined ? [] : [{ version, origin: "packages", release: otherRelease }];
  }

  /** etcd releases that `npm run reference` built. */
  #referenceEtcd(): Candidate[] {
    const home = join(cacheDirectory(this.#env), "reference");
    if (!existsSync(home)) return [];
    return readdirSync(home)
      .filter((name) => /^etcd-\d/.test(name) && existsSync(join(home, name, "bin", "etcd")))
      .map((name) => ({
        version: name.slice("etcd-".length),
        origin: "reference",
        directory: join(home, name, "bin"),
      }));
  }

  async #packagedVersion(recipe: Recipe, release?: DebianRelease): Promise<string | undefined> {
    if (!hasApt(this.#env)) return undefined;
    const options = { env: this.#env, onProgress: this.#onProgress, release };
    const lookUp = async () => {
      if (typeof recipe.versionPackage === "string")
        return await candidateVersion(recipe.versionPackage, options);
      const meta = recipe.packages[0] ?? recipe.name;
      const shown = await runCommand("apt-cache", ["depends", ...cacheOptions(options), meta], {
        env: this.#env,
      });
      const names = [...shown.stdout.matchAll(/Depends: (\S+)/g)].map((match) => match[1] ?? "");
      const name = names.find((candidate) => (recipe.versionPackage as RegExp).test(candidate));
      return name === undefined ? undefined : await candidateVersion(name, options);
    };
    let version = await lookUp();
    if (version === undefined) {
      await ensurePackageLists(options);
      version = await lookUp();
    }
    return version === undefined ? undefined : upstreamVersion(version);
  }

  async #onMachine(recipe: Recipe): Promise<Candidate[]> {
    const program = recipe.programs[0];
    const path = program && findOnPath(program.command, this.#env);
    if (path === undefined) return [];
    const said = await runCommand(path, ["--version"]);
    const version = /\d+\.\d+(?:\.\d+)?/.exec(said.stdout + said.stderr)?.[0];
    return version === undefined ? [] : [{ version, origin: "machine" }];
  }

  async #make(recipe: Recipe, candidate: Candidate, reference: ImageReference): Promise<ResolvedImage> {
    const home = join(this.#home(), recipe.name, `${candidate.version}-${fingerprint(recipe)}`);
    privateCache(this.#env);
    await makeOnce(home, async (directory) => {
      this.#onProgress?.(`making image ${recipe.name}:${candidate.version}`);
      const contents = await this.#fill(recipe, candidate, join(directory, "rootfs"));
      const id = createHash("sha256")
        .update(JSON.stringify([basename(home), contents]))
        .digest("hex");
      const record: MadeRecord = {
        version: candidate.version,
        origin: candidate.origin,
        ...(candidate.release && { release: candidate.release }),
        id: `sha256:${id}`,
        sizeBytes: await sizeOf(join(directory, "rootfs")),
      };
      await writeFile(join(directory, "image.json"), JSON.stringify(record));
    });
    const record = parseJson(await readFile(join(home, "image.json"), "utf8")) as unknown as MadeRecord;
    return {
      reference: formatImageReference(reference),
      id: record.id,
      repoDigest: `${repositoryName(reference)}@${record.id}`,
      names: recipe.anyTag
        ? [formatImageReference(reference)]
        : [...new Set([formatImageReference(reference), `${repositoryName(reference)}:${record.version}`])],
      rootfs: join(home, "rootfs"),
      config: configOf(recipe, record.version),
      origin: record.origin,
      sizeBytes: record.sizeBytes,
    };
  }

  /** Returns what the image was made from, for its identity. */
  async #fill(recipe: Recipe, candidate: Candidate, path: string): Promise<string[]> {
    const contents: string[] = [];
    const bare = recipe.base === "none" || candidate.origin !== "packages";
    let present = new Set<string>();
    if (bare) {
      await mkdir(path);
      await makeSkeleton(path);
    } else {
      const base = await this.#base(candidate.release);
      const copy = await runCommand("cp", ["-al", join(base, "rootfs"), path]);
      if (copy.code !== 0)
        throw new ImageError("PackageUnavailable", `cannot copy the base system: ${copy.stderr.trim()}`);
      const names = parseJson(await readFile(join(base, "packages.json"), "utf8")) as string[];
      present = new Set(names);
      contents.push(basename(base));
    }
    if (candidate.origin === "packages" && recipe.packages.length > 0) {
      const packages = await fetchPackages([...(bare ? [] : basePackages), ...recipe.packages], {
        env: this.#env,
        onProgress: this.#onProgress,
        release: candidate.release,
        installed: "nothing",
        without: scriptDependencies,
      });
      const added = packages.filter(({ name }) => !present.has(name));
      await unpackPackages(added, path);
      contents.push(...added.map(({ name, version }) => `${name}=${version}`));
      if (recipe.listsPackages) await listPackages(new RootDirectory(path), added);
    }
    await this.#copyPrograms(recipe, candidate, path);
    const root = new RootDirectory(path);
    if (recipe.accounts !== undefined) await root.accounts(recipe.accounts);
    await linkApplets(root);
    await recipe.finish?.(root, candidate.version);
    return contents;
  }

  async #copyPrograms(recipe: Recipe, candidate: Candidate, root: string): Promise<void> {
    for (const program of recipe.programs) {
      if (candidate.origin === "packages" && program.always !== true) continue;
      const source =
        candidate.directory === undefined
          ? program.command.startsWith("/")
            ? program.command
            : findOnPath(program.command, this.#env)
          : join(candidate.directory, program.command);
      if (source !== undefined && existsSync(source)) await copyProgram(source, root, program.target);
    }
    // Without packages an image still needs a shell for its start script.
    if (candidate.origin === "machine") {
      for (const command of machineCommands) {
        const source = findOnPath(command, this.#env);
        if (source !== undefined) await copyProgram(source, root, `/usr/bin/${command}`);
      }
    }
  }

  async #base(release: DebianRelease | undefined): Promise<string> {
    const key = createHash("sha256")
      .update([baseRevision, ...basePackages, ...(release === undefined ? [] : [release])].join(" "))
      .digest("hex")
      .slice(0, 12);
    const home = join(this.#home(), "base", key);
    await makeOnce(home, async (directory) => {
      await mkdir(join(directory, "rootfs"));
      const names = await makeDebianBase(join(directory, "rootfs"), {
        env: this.#env,
        onProgress: this.#onProgress,
        release,
      });
      await writeFile(join(directory, "packages.json"), JSON.stringify(names));
    });
    return home;
  }

  #home(): string {
    return join(cacheDirectory(this.#env), "images", "made");
  }
}

/** As images without a package manager list theirs. */
async function listPackages(root: RootDirectory, packages: readonly DebianPackage[]): Promise<void> {
  for (const { name, version } of packages) {
    const fields = { Package: name, Status: "install ok installed", Version: version };
    const text = Object.entries(fields).map(([key, value]) => `${key}: ${value}\n`);
    await root.write(`var/lib/dpkg/status.d/${name}`, text.join(""));
  }
}

const machineCommands = [
  ...[
    "sh",
    "bash",
    "cat",
    "cp",
    "chmod",
    "chown",
    "cut",
    "date",
    "dd",
    "df",
    "du",
    "echo",
    "env",
    "false",
    "grep",
  ],
  ...[
    "head",
    "hostname",
    "id",
    "kill",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "printf",
    "ps",
    "pwd",
    "rm",
    "rmdir",
    "sed",
  ],
  ...["sleep", "sort", "stat", "tail", "tar", "tee", "test", "touch", "tr", "true", "uname", "wc", "which"],
];

/** Changes whenever the recipe does, so that an old result is not taken for a new one. */
function fingerprint(recipe: Recipe): string {
  const { revision, packages, programs, accounts, base } = recipe;
  const content = [
    revision,
    packages,
    programs,
    accounts,
    base,
    recipe.config("0"),
    baseRevision,
    basePackages,
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 8);
}

/** Where versions come from that the machine's own release does not have. */
const otherRelease: DebianRelease = "trixie";

function fits(recipe: Recipe, reference: ImageReference, { version, release }: Candidate): boolean {
  if (reference.digest !== "") return false;
  // `latest` means the same on a machine whether or not an image of another release was ever made.
  if (release !== undefined && !/^v?\d/.test(reference.tag)) return false;
  return recipe.anyTag === true || tagAccepts(reference.tag, version, recipe.tags);
}

function newest(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.toSorted((a, b) => compareVersions(b.version, a.version))[0];
}

async function sizeOf(directory: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return sum;
}
