/** `keelson apiserver`: the server as a process of its own. */
import { createAuthority, createLeaf } from "../pki/index.ts";
import { listenSecurely } from "./http/listener.ts";
import { apiServer } from "./server.ts";

export interface ApiServerFlags {
  readonly port?: number;
  readonly token?: string;
}

export async function runApiServer(flags: ApiServerFlags) {
  const now = Date.now();
  const authority = createAuthority("keelson", now - 3_600_000, now + 10 * 365 * 86_400_000);
  const leaf = createLeaf(authority, {
    subject: { commonName: "kube-apiserver" },
    names: [
      "localhost",
      "kubernetes",
      "kubernetes.default",
      "kubernetes.default.svc",
      "127.0.0.1",
      "10.0.0.1",
    ],
    usages: ["server"],
    notBeforeMs: now - 3_600_000,
    notAfterMs: now + 365 * 86_400_000,
  });
  const server = await apiServer({ token: flags.token ?? "admin-token" });
  const listening = await listenSecurely({
    dispatch: server.dispatch,
    host: "127.0.0.1",
    port: flags.port ?? 6443,
    tls: { certificate: leaf.certificate, key: leaf.key },
  });
  console.log(`https://127.0.0.1:${listening.port}`);
  return { server, listening };
}

if (import.meta.main) {
  const at = process.argv.indexOf("--port");
  await runApiServer({ port: at > 0 ? Number(process.argv[at + 1]) : 6443 });
}
