/** Tells which files of a project were saved. */
import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";

/** Folders of a project that hold none of its sources. */
const IGNORED = /^(node_modules|dist|coverage|deploy)$|^\./;
/** An editor writes a file in several steps. */
const SETTLE_MS = 25;

/** Calls back with the paths, relative to the directory, that changed together. */
export function watchFiles(directory: string, changed: (paths: readonly string[]) => void): () => void {
  const pending = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const saw = (path: string) => {
    if (path.endsWith("~") || /(^|\/)\.|\.sw[px]$|\.tmp$/.test(path)) return;
    pending.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const paths = [...pending].sort();
      pending.clear();
      changed(paths);
    }, SETTLE_MS);
  };
  const tree = new WatchedTree(directory, saw);
  return () => {
    clearTimeout(timer);
    tree.close();
  };
}

/**
 * The folders of a project, each with a watcher of its own. Node's recursive watcher on Linux follows each file by its
 * inode: after an editor has saved by renaming, as many do, it hears of that file no more.
 */
class WatchedTree {
  readonly #directory: string;
  readonly #saw: (path: string) => void;
  /** By the folder's path; the project's own is "". */
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(directory: string, saw: (path: string) => void) {
    this.#directory = directory;
    this.#saw = saw;
    this.#follow("", () => {});
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  /** Tells of every file in the folder: those of a new one came before its watcher. */
  #follow(folder: string, found: (path: string) => void): void {
    this.#forget(folder);
    const place = join(this.#directory, folder);
    try {
      // Watched before it is read, so that no file comes between the two.
      const watcher = watch(place, (event, name) => {
        if (name !== null) this.#heard(event, folder === "" ? name : `${folder}/${name}`);
      });
      watcher.on("error", () => this.#forget(folder));
      this.#watchers.set(folder, watcher);
      for (const entry of readdirSync(place, { withFileTypes: true })) {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (!entry.isDirectory()) found(path);
        else if (!isIgnored(path)) this.#follow(path, found);
      }
    } catch (error) {
      // It went while it was looked at; the project's own folder is there or the command has no work.
      if (folder === "") throw error;
      this.#forget(folder);
    }
  }

  #heard(event: string, path: string): void {
    if (isIgnored(path)) return;
    const stat = statSync(join(this.#directory, path), { throwIfNoEntry: false });
    if (!stat?.isDirectory()) {
      this.#forget(path);
      this.#saw(path);
    } else if (event === "rename" || !this.#watchers.has(path)) {
      // A folder that came, or came back as another.
      this.#follow(path, this.#saw);
    }
  }

  #forget(folder: string): void {
    for (const [path, watcher] of this.#watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
  }
}

function isIgnored(path: string): boolean {
  return IGNORED.test(path) || /\/(node_modules$|\.[^/]*$)/.test(path);
}

/** Whether a saved file is one that the operator is made of. */
export function isSource(path: string): boolean {
  return (
    /\.([cm]?[jt]s|json)$/.test(path) && !/(^|\/)tests?\/|\.test\.[cm]?[jt]s$|tsconfig|biome\.json/.test(path)
  );
}

/** Whether a saved file has a say in the type check. */
export function isTyped(path: string): boolean {
  return /\.([cm]?ts|json)$/.test(path);
}
