/** A kubeconfig of one user. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export interface KubeconfigOptions {
  readonly server: string;
  /** What the user is called in the file. */
  readonly user: string;
  readonly token: string;
  /** In PEM. */
  readonly caCertificate: string;
}

/** Readable by its owner only, also when the file was there before. */
export function writeKubeconfig(
  path: string,
  { server, user, token, caCertificate }: KubeconfigOptions,
): void {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "keelson",
        cluster: { server, "certificate-authority-data": Buffer.from(caCertificate).toString("base64") },
      },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: "keelson", context: { cluster: "keelson", user } }],
    "current-context": "keelson",
  };
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // JSON is YAML.
  writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
}
