/** A kubeconfig's user as credentials that stay current. */
import { ClientError } from "../errors.ts";
import type { Credential, Credentials } from "../transport/transport.ts";
import { ExecPlugin, type ExecPluginSettings } from "./exec-plugin.ts";
import type { UserEntry } from "./kubeconfig.ts";
import { RotatingFile } from "./rotating-file.ts";

export type UserCredentialsSettings = Omit<ExecPluginSettings, "exec"> & { readonly entry: UserEntry };

/** What a file or the kubeconfig itself holds. */
type Text = Pick<RotatingFile, "fresh" | "read" | "expire">;

/** Undefined when the user has nothing to show: such requests are anonymous. */
export function userCredentials(settings: UserCredentialsSettings): Credentials | undefined {
  const { entry, user, clock } = settings;
  const name = JSON.stringify(user);
  if (entry.authProvider) {
    throw new ClientError(
      "KubeconfigInvalid",
      `user ${name} cannot be used: auth-provider ${JSON.stringify(entry.authProvider)} was removed from Kubernetes; use its exec plugin instead`,
    );
  }
  const file = (path: string, what: string) => new RotatingFile(path, `${what} of user ${name}`, clock);
  const text = (data: string | undefined, path: string | undefined, what: string) =>
    data !== undefined ? constant(data) : path !== undefined ? file(path, what) : undefined;
  const certificate = text(entry.clientCertificateData, entry.clientCertificate, "client-certificate");
  const key = text(entry.clientKeyData, entry.clientKey, "client-key");
  if (!certificate !== !key) {
    const [has, lacks] = certificate
      ? ["client-certificate", "client-key"]
      : ["client-key", "client-certificate"];
    throw new ClientError(
      "KubeconfigInvalid",
      `user ${name} cannot be used: it has a ${has} and no ${lacks}`,
    );
  }
  const token = entry.tokenFile
    ? file(entry.tokenFile, "tokenFile")
    : entry.token
      ? constant(entry.token)
      : undefined;
  if (token && (entry.username || entry.password)) {
    throw new ClientError(
      "KubeconfigInvalid",
      `user ${name} cannot be used: it has both a token and a password; keep one`,
    );
  }
  const basic =
    entry.username || entry.password
      ? `Basic ${Buffer.from(`${entry.username ?? ""}:${entry.password ?? ""}`).toString("base64")}`
      : undefined;
  const plugin = entry.exec ? new ExecPlugin({ ...settings, exec: entry.exec }) : undefined;
  if (!certificate && !token && !basic && !plugin) return undefined;
  return new UserCredentials({ certificate, key, token, basic, plugin });
}

function constant(value: string): Text {
  return { fresh: value, read: async () => value, expire: () => {} };
}

interface Sources {
  readonly certificate?: Text;
  readonly key?: Text;
  readonly token?: Text;
  readonly basic?: string;
  readonly plugin?: ExecPlugin;
}

/** Credentials of a token alone, as a pod has. */
export function tokenCredentials(token: RotatingFile): Credentials {
  return new UserCredentials({ token });
}

class UserCredentials implements Credentials {
  readonly #sources: Sources;
  /** The last one, and what it was made of. */
  #last: { readonly own: readonly (string | undefined)[]; readonly credential: Credential } | undefined;
  /** Which answer of the plugin went into which credential. */
  readonly #fromPlugin = new WeakMap<Credential, Credential>();

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  current(): Credential | Promise<Credential> {
    const { certificate, key, token, plugin } = this.#sources;
    const own = [certificate?.fresh, key?.fresh, token?.fresh] as const;
    const isKnown = !certificate === !own[0] && !key === !own[1] && !token === !own[2];
    return isKnown && !plugin ? this.#of(own) : this.#read();
  }

  async #read(): Promise<Credential> {
    const { certificate, key, token, plugin } = this.#sources;
    const own = [await certificate?.read(), await key?.read(), await token?.read()] as const;
    return this.#of(own, plugin && (await plugin.current()));
  }

  #of(own: readonly [certificate?: string, key?: string, token?: string], plugged?: Credential): Credential {
    const last = this.#last;
    if (!plugged && last && own.every((text, at) => text === last.own[at])) return last.credential;
    const [certificate, key, token] = own;
    const said = token === undefined ? this.#sources.basic : `Bearer ${token.trim()}`;
    const credential: Credential = {
      headers: said === undefined ? plugged?.headers : { authorization: said },
      certificate: plugged?.certificate ?? certificate,
      key: plugged?.key ?? key,
    };
    if (plugged) this.#fromPlugin.set(credential, plugged);
    else this.#last = { own, credential };
    return credential;
  }

  async refused(credential: Credential): Promise<boolean> {
    const { certificate, key, token, plugin } = this.#sources;
    const plugged = this.#fromPlugin.get(credential);
    if (plugin && plugged && plugin.refused(plugged)) return true;
    for (const text of [certificate, key, token]) text?.expire();
    const now = await this.current();
    return (
      now.headers?.authorization !== credential.headers?.authorization ||
      now.certificate !== credential.certificate
    );
  }
}
