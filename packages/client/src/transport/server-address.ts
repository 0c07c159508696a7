/** The address of an API server, read from the forms in which a kubeconfig may give it. */
import { ClientError } from "../errors.ts";

export interface ServerAddress {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly socketPath?: string;
  /** What precedes every path, without a slash at its end. */
  readonly prefix: string;
  /** As it was given, for messages. */
  readonly text: string;
}

export function parseServer(text: string): ServerAddress {
  if (text.startsWith("unix:")) {
    const socketPath = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (!socketPath.startsWith("/")) throw badServer(text, "a Unix socket's path must begin with a slash");
    return { secure: false, host: "localhost", port: 80, socketPath, prefix: "", text };
  }
  // As kubectl does: an address without a scheme is a host.
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.parse(withScheme);
  if (url === null) throw badServer(text, "it is no URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw badServer(text, "its scheme must be https, http or unix");
  }
  const secure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port ? Number(url.port) : secure ? 443 : 80;
  return { secure, host, port, prefix: url.pathname.replace(/\/+$/, ""), text };
}

function badServer(text: string, why: string): ClientError {
  return new ClientError(
    "KubeconfigInvalid",
    `the server address ${JSON.stringify(text)} cannot be used: ${why}`,
  );
}
