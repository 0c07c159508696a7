/** Tells which files of a project were saved. */
import { type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";

/** Folders of a project that hold none of its sources. */
const IGNORED = /^(node_modules|dist|coverage|deploy)$|^\./;
/** An editor writes a file in several steps. */
const SETTLE_MS = 25;

/** Calls back with the paths, relative to the directory, that changed together. */
export function watchFiles(directory: string, changed: (paths: readonly string[]) => void): () => void {
  const pending = new Set<string>();
  const watchers: FSWatcher[] = [];
  const folders = new Set<string>();
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
  const follow = (folder: string) => {
    if (folders.has(folder) || IGNORED.test(folder)) return;
    folders.add(folder);
    const watcher = watch(join(directory, folder), { recursive: true }, (_, name) => {
      if (name !== null) saw(`${folder}/${name.replaceAll("\\", "/")}`);
    });
    // A folder that is removed takes its watcher along.
    watcher.on("error", () => folders.delete(folder));
    watchers.push(watcher);
  };
  const followAll = () => {
    for (const entry of readdirSync(directory, { withFileTypes: true }))
      if (entry.isDirectory()) follow(entry.name);
  };
  followAll();
  // Not with everything below it: node_modules has tens of thousands of files.
  watchers.push(
    watch(directory, (_, name) => {
      if (name === null || IGNORED.test(name)) return;
      followAll();
      if (!folders.has(name)) saw(name);
    }),
  );
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
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
