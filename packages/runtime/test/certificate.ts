/** A certificate for a server on loopback that is its own authority, made by openssl. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Undefined where there is no openssl. */
export function loopbackCertificate(): Certificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), "keelson-certificate-"));
  const [cert, key] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  try {
    execFileSync(
      "openssl",
      ["req", "-x509", ...curve, "-nodes", "-days", "2", ...names, "-keyout", key, "-out", cert],
      { stdio: "ignore" },
    );
    return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
