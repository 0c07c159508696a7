/** What becomes part of a bundle, and where each module lies in the image. */
import { join, relative, sep } from "node:path";
import { type Manifest, manifestOf, seenFrom } from "./packages.ts";

/** A package in the image. */
export interface Placed {
  /** `app`, or `app/node_modules/zod`. */
  readonly into: string;
  readonly directory: string;
  readonly manifest: Manifest;
}

/**
 * The operator's own modules, Keelson's packages and what those need are bundled, and every package that needs Keelson: it
 * must meet the same copy. Other packages stay as they are: they may look for files beside their own.
 */
export class BundleScope {
  readonly own: Placed;
  readonly #packages: readonly Placed[];
  readonly #needed: ReadonlySet<string>;
  readonly #bundled: ReadonlySet<string>;
  readonly #closure: ReadonlyMap<string, string>;

  constructor(directory: string, closure: ReadonlyMap<string, string>) {
    this.#closure = closure;
    this.own = { into: "app", directory, manifest: manifestOf(directory) };
    this.#packages = [...closure].map(([into, place]) => ({
      into,
      directory: place,
      manifest: manifestOf(place),
    }));
    const keelsons = this.#packages.filter(({ manifest }) =>
      /^(@keelson\/|keelson$)/.test(manifest.name ?? ""),
    );
    this.#needed = directoriesOf(this.#reached(keelsons));
    const users = this.#packages.filter((each) => this.#reached([each]).some((it) => keelsons.includes(it)));
    this.#bundled = new Set([...this.#needed, ...directoriesOf(users)]);
  }

  /** The operator and the packages that are bundled. */
  get bundled(): readonly Placed[] {
    return [this.own, ...this.#packages.filter(({ directory }) => this.#bundled.has(directory))];
  }

  /** The package of a module, if the module becomes part of bundles. */
  packageOf(file: string): Placed | undefined {
    const found = this.#holder(file);
    return found === this.own || (found && this.#bundled.has(found.directory)) ? found : undefined;
  }

  /** Whether Keelson itself needs a package. */
  isNeededByKeelson({ directory }: Placed): boolean {
    return this.#needed.has(directory);
  }

  /** Whether a bundle that imports this name would find another version of it in the image. */
  isHidden(name: string, file: string): boolean {
    const [packageName = ""] = /^(@[^/]+\/)?[^/]+/.exec(name) ?? [];
    const holder = this.#holder(file);
    return holder !== undefined && seenFrom("app", packageName, this.#closure) !== holder.directory;
  }

  #holder(file: string): Placed | undefined {
    const inside = ({ directory }: Placed) => file.startsWith(directory + sep);
    const holder = this.#packages.find((each) => inside(each) && !rest(each, file).includes("node_modules/"));
    return (
      holder ?? (inside(this.own) && !rest(this.own, file).includes("node_modules/") ? this.own : undefined)
    );
  }

  #reached(from: readonly Placed[]): Placed[] {
    const found = new Set(from);
    for (const { into, manifest } of found) {
      for (const name of Object.keys(manifest.dependencies ?? {})) {
        const directory = seenFrom(into, name, this.#closure);
        for (const each of this.#packages) if (each.directory === directory) found.add(each);
      }
    }
    return [...found];
  }
}

function directoriesOf(packages: readonly Placed[]): Set<string> {
  return new Set(packages.map(({ directory }) => directory));
}

/** A module's path inside its package. */
function rest({ directory }: Placed, file: string): string {
  return relative(directory, file).split(sep).join("/");
}

/** A module's path in the image. */
export function imagePath(placed: Placed, file: string): string {
  return join(placed.into, rest(placed, file)).split(sep).join("/");
}
