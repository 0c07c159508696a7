/** Kubeconfig files: read, checked and merged by the rules that kubectl has. */
import { readFile } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { type JsonValue, parseJson } from "@keelson/core";
import { ClientError } from "../errors.ts";

/** A cluster of a kubeconfig: its address and its authorities. */
export interface ClusterEntry {
  readonly server: string;
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** A path, absolute. */
  readonly certificateAuthority?: string;
  /** PEM. */
  readonly certificateAuthorityData?: string;
  readonly proxyUrl?: string;
  /** What the cluster hands to credential plugins. */
  readonly execExtension?: JsonValue;
}

/** As the file has it: whether it makes sense is looked at when it is used. */
export interface ExecEntry {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode?: string;
}

/** A user of a kubeconfig, with its credentials. */
export interface UserEntry {
  readonly clientCertificate?: string;
  readonly clientCertificateData?: string;
  readonly clientKey?: string;
  readonly clientKeyData?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly asUid?: string;
  readonly asGroups?: readonly string[];
  readonly asUserExtra?: Readonly<Record<string, readonly string[]>>;
  readonly authProvider?: string;
  readonly exec?: ExecEntry;
}

/** A context of a kubeconfig: a cluster, a user, a namespace. */
export interface ContextEntry {
  readonly cluster: string;
  readonly user?: string;
  readonly namespace?: string;
}

/** One or more kubeconfig files as one. */
export interface Kubeconfig {
  readonly currentContext?: string;
  readonly contexts: ReadonlyMap<string, ContextEntry>;
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  /** The files it was made of, for messages. */
  readonly files: readonly string[];
}

/** A kubeconfig's content in its own notation, as YAML or JSON would hold it. */
export type KubeconfigDocument = Readonly<Record<string, unknown>>;

/**
 * Where kubeconfig files are looked for: the paths in `KUBECONFIG`, or else `.kube/config` in the home
 * directory.
 */
export function kubeconfigPaths(env: Readonly<Record<string, string | undefined>>): string[] {
  const listed = (env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  if (listed.length > 0) return [...new Set(listed)];
  const home = env.HOME || env.USERPROFILE;
  return home ? [join(home, ".kube", "config")] : [];
}

/**
 * Reads files and merges them. Of entries with the same name, and of current contexts, the first wins whole. A
 * file that is missing is skipped when others exist; relative paths in a file start at that file's folder.
 */
export async function readKubeconfig(paths: readonly string[]): Promise<Kubeconfig> {
  const documents: Kubeconfig[] = [];
  for (const path of paths) {
    const text = await readText(path, paths.length > 1);
    if (text !== undefined) documents.push(parseKubeconfig(await parseText(text, path), path));
  }
  if (documents.length > 0) return merge(documents);
  throw new ClientError(
    "KubeconfigMissing",
    paths.length === 0
      ? "no kubeconfig: KUBECONFIG is not set and there is no home directory; pass the path of one"
      : `no kubeconfig: ${paths.join(", ")} ${paths.length === 1 ? "does" : "do"} not exist; set KUBECONFIG or pass the path of one`,
  );
}

async function readText(path: string, optional: boolean): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" && optional) return undefined;
    if (code === "ENOENT") {
      throw new ClientError(
        "KubeconfigMissing",
        `the kubeconfig ${path} does not exist; set KUBECONFIG or pass the path of one`,
        {
          cause,
        },
      );
    }
    const why = code === "EISDIR" ? "it is a directory" : (cause as Error).message;
    throw new ClientError("KubeconfigMissing", `the kubeconfig ${path} cannot be read: ${why}`, { cause });
  }
}

/** JSON is YAML too; reading it as what it is saves loading a YAML parser. */
async function parseText(text: string, path: string): Promise<unknown> {
  if (text.trimStart().startsWith("{")) {
    try {
      return parseJson(text);
    } catch {
      // Flow-style YAML begins with a brace as well: its own parser has the last word.
    }
  }
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { prettyErrors: false, strict: true });
  const [error] = document.errors;
  if (error) {
    const line = text.slice(0, error.pos[0]).split("\n").length;
    throw new ClientError(
      "KubeconfigMalformed",
      `the kubeconfig ${path} is not YAML: line ${line}: ${error.message}; correct it, or set KUBECONFIG to another file`,
      {
        cause: error,
      },
    );
  }
  return document.toJS();
}

/** Checks a document's shape. `path` is where it came from; relative paths in it start at its folder. */
export function parseKubeconfig(value: unknown, path: string): Kubeconfig {
  const top = new Fields(value ?? {}, path, "", dirname(resolve(path)));
  const contexts = new Map<string, ContextEntry>();
  for (const [name, at] of top.named("contexts", "context")) {
    contexts.set(name, {
      cluster: at.string("cluster") ?? "",
      user: at.string("user"),
      namespace: at.string("namespace"),
    });
  }
  const clusters = new Map<string, ClusterEntry>();
  for (const [name, at] of top.named("clusters", "cluster")) clusters.set(name, clusterOf(at));
  const users = new Map<string, UserEntry>();
  for (const [name, at] of top.named("users", "user")) users.set(name, userOf(at));
  return { currentContext: top.string("current-context"), contexts, clusters, users, files: [path] };
}

function clusterOf(at: Fields): ClusterEntry {
  let execExtension: JsonValue | undefined;
  for (const extension of at.list("extensions")) {
    if (extension.string("name") === "client.authentication.k8s.io/exec") {
      execExtension = extension.raw("extension") as JsonValue;
    }
  }
  return {
    server: at.string("server") ?? "",
    tlsServerName: at.string("tls-server-name"),
    insecureSkipTlsVerify: at.boolean("insecure-skip-tls-verify"),
    certificateAuthority: at.path("certificate-authority"),
    certificateAuthorityData: at.base64("certificate-authority-data"),
    proxyUrl: at.string("proxy-url"),
    execExtension,
  };
}

function userOf(at: Fields): UserEntry {
  const exec = at.object("exec");
  return {
    clientCertificate: at.path("client-certificate"),
    clientCertificateData: at.base64("client-certificate-data"),
    clientKey: at.path("client-key"),
    clientKeyData: at.base64("client-key-data"),
    token: at.string("token"),
    tokenFile: at.path("tokenFile"),
    username: at.string("username"),
    password: at.string("password"),
    as: at.string("as"),
    asUid: at.string("as-uid"),
    asGroups: at.strings("as-groups"),
    asUserExtra: at.stringLists("as-user-extra"),
    authProvider: at.object("auth-provider")?.string("name"),
    exec: exec && execOf(exec),
  };
}

function execOf(at: Fields): ExecEntry {
  const command = at.string("command");
  const env: Record<string, string> = {};
  for (const variable of at.list("env")) {
    const name = variable.string("name");
    if (!name) throw variable.problem("name", "is missing");
    env[name] = variable.string("value") ?? "";
  }
  return {
    apiVersion: at.string("apiVersion"),
    // A bare name is looked for in PATH; with a slash it is a path like any other.
    command: command?.includes("/") ? at.path("command") : command,
    args: at.strings("args") ?? [],
    env,
    installHint: at.string("installHint"),
    provideClusterInfo: at.boolean("provideClusterInfo") ?? false,
    interactiveMode: at.string("interactiveMode"),
  };
}

function merge(documents: readonly Kubeconfig[]): Kubeconfig {
  const first = <T>(pick: (document: Kubeconfig) => ReadonlyMap<string, T>): Map<string, T> => {
    const merged = new Map<string, T>();
    for (const document of documents) {
      for (const [name, entry] of pick(document)) if (!merged.has(name)) merged.set(name, entry);
    }
    return merged;
  };
  return {
    currentContext: documents.map((document) => document.currentContext).find((name) => name),
    contexts: first((document) => document.contexts),
    clusters: first((document) => document.clusters),
    users: first((document) => document.users),
    files: documents.flatMap((document) => document.files),
  };
}

/** Typed access to one level of the file; a wrong type is an error that names its place. */
class Fields {
  readonly #value: Record<string, unknown>;
  readonly #file: string;
  readonly #at: string;
  readonly #folder: string;

  constructor(value: unknown, file: string, at: string, folder: string) {
    this.#file = file;
    this.#at = at;
    this.#folder = folder;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      const what = at || "the document";
      throw new ClientError(
        "KubeconfigMalformed",
        `the kubeconfig ${file} is malformed: ${what} must be a mapping${at ? "" : " with clusters, users and contexts; is it another file?"}`,
      );
    }
    this.#value = value as Record<string, unknown>;
  }

  raw(key: string): unknown {
    return this.#value[key] ?? undefined;
  }

  string(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || value === "") return undefined;
    if (typeof value !== "string") throw this.problem(key, "must be a string; put it in quotes");
    return value;
  }

  boolean(key: string): boolean | undefined {
    const value = this.raw(key);
    if (value !== undefined && typeof value !== "boolean") throw this.problem(key, "must be true or false");
    return value;
  }

  path(key: string): string | undefined {
    const value = this.string(key);
    return value === undefined || isAbsolute(value) ? value : resolve(this.#folder, value);
  }

  base64(key: string): string | undefined {
    const value = this.string(key);
    if (value === undefined) return undefined;
    const compact = value.replace(/\s+/g, "");
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) throw this.problem(key, "must be base64");
    return Buffer.from(compact, "base64").toString("utf8");
  }

  strings(key: string): string[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
      throw this.problem(key, "must be a list of strings");
    }
    return value as string[];
  }

  stringLists(key: string): Record<string, string[]> | undefined {
    const at = this.object(key);
    if (at === undefined) return undefined;
    return Object.fromEntries(Object.keys(at.#value).map((name) => [name, at.strings(name) ?? []]));
  }

  object(key: string): Fields | undefined {
    const value = this.raw(key);
    return value === undefined ? undefined : new Fields(value, this.#file, this.#place(key), this.#folder);
  }

  list(key: string): Fields[] {
    const value = this.raw(key);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.problem(key, "must be a list");
    return value.map((item, i) => new Fields(item, this.#file, `${this.#place(key)}[${i}]`, this.#folder));
  }

  /** A list of `{ name, <inner>: {…} }`. */
  named(key: string, inner: string): Map<string, Fields> {
    const entries = new Map<string, Fields>();
    for (const item of this.list(key)) {
      const name = item.string("name");
      if (!name) throw item.problem("name", "is missing");
      const at = item.object(inner) ?? new Fields({}, this.#file, item.#place(inner), this.#folder);
      if (entries.has(name)) throw this.problem(key, `has two entries named ${JSON.stringify(name)}`);
      entries.set(name, at);
    }
    return entries;
  }

  problem(key: string, what: string): ClientError {
    return new ClientError(
      "KubeconfigMalformed",
      `the kubeconfig ${this.#file} is malformed: ${this.#place(key)} ${what}`,
    );
  }

  #place(key: string): string {
    return this.#at ? `${this.#at}.${key}` : key;
  }
}
