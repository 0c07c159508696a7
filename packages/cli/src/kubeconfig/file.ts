/** Puts a cluster's context into a kubeconfig that belongs to a person, and takes it out again, as kind does. */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { type Document, isMap, isSeq, parseDocument } from "yaml";
import { CliError } from "../errors.ts";

const LISTS = ["clusters", "users", "contexts"] as const;

/** The entries of one cluster, by the list that they are in. */
type Entries = Readonly<Record<(typeof LISTS)[number], Readonly<Record<string, unknown>>>>;

/** What its context, cluster and user are called in a file that has others. */
export function contextName(cluster: string): string {
  return `keelson-${cluster}`;
}

/** Throws in words if the file is no kubeconfig: better before a cluster is started than after. */
export function checkKubeconfig(path: string): void {
  read(target(path));
}

/** Adds the context of the kubeconfig at `from`, in place of one of that name, and makes it the current one. */
export function addContext(path: string, cluster: string, from: string): void {
  const name = contextName(cluster);
  const entries = entriesOf(read(from), name);
  change(path, (document) => {
    for (const list of LISTS) replace(document, list, name, entries[list]);
    document.set("current-context", name);
  });
}

/** Takes the context out, and everything that came with it. The rest of the file stays as it is, comments too. */
export function removeContext(path: string, cluster: string): void {
  const name = contextName(cluster);
  if (!existsSync(path)) return;
  change(path, (document) => {
    for (const list of LISTS) replace(document, list, name, undefined);
    if (document.get("current-context") === name) document.set("current-context", "");
  });
}

/** The only cluster, user and context of a file, under another name. */
function entriesOf(document: Document, name: string): Entries {
  const { clusters, users } = document.toJS() as {
    clusters: [{ cluster: unknown }];
    users: [{ user: unknown }];
  };
  return {
    clusters: { name, cluster: clusters[0].cluster },
    users: { name, user: users[0].user },
    contexts: { name, context: { cluster: name, user: name } },
  };
}

function replace(document: Document, list: string, name: string, entry: unknown): void {
  const all = document.get(list);
  const items = isSeq(all) ? all.items : [];
  const others = items.filter((item) => !isMap(item) || item.get("name") !== name);
  const made = entry === undefined ? [] : [document.createNode(entry)];
  if (isSeq(all)) all.items = [...others, ...made];
  else document.set(list, document.createNode(made));
}

/** Reads, changes and writes under the lock that kubectl takes too; readers see the old file or the new one. */
function change(given: string, edit: (document: Document) => void): void {
  const path = target(given);
  const lock = `${path}.lock`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(lock, "wx", 0o600));
  } catch (cause) {
    const taken = (cause as NodeJS.ErrnoException).code === "EEXIST";
    const why = taken ? `another program changes it; if none does, remove ${lock}` : (cause as Error).message;
    throw new CliError("BadKubeconfig", `${given} cannot be changed: ${why}`, { cause });
  }
  try {
    const document = read(path);
    edit(document);
    writeFileSync(`${path}.new`, document.toString(), { mode: 0o600 });
    if (existsSync(path)) chmodSync(`${path}.new`, statSync(path).mode & 0o777);
    renameSync(`${path}.new`, path);
  } finally {
    rmSync(lock, { force: true });
  }
}

/** The file itself, where the path is a link to it. */
function target(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

function read(path: string): Document {
  let text = "";
  try {
    if (existsSync(path)) text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new CliError("BadKubeconfig", `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error) throw new CliError("BadKubeconfig", `${path} is not YAML: ${error.message}`, { cause: error });
  if (document.contents === null) return parseDocument("apiVersion: v1\nkind: Config\npreferences: {}\n");
  const lists = isMap(document.contents) && LISTS.every((list) => isList(document, list));
  if (!lists) throw new CliError("BadKubeconfig", `${path} is no kubeconfig; choose another file`);
  return document as Document;
}

function isList(document: Document.Parsed, name: string): boolean {
  const value = document.get(name);
  return value === undefined || value === null || isSeq(value);
}
