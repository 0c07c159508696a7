/** The certificate that PostgreSQL presents: copied from where the kubelet mounts it, with the permissions that PostgreSQL wants. */
import { hash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

const files = ["ca.crt", "tls.crt", "tls.key"] as const;

export class Certificates {
  readonly #source: string;
  /** Where PostgreSQL reads them. */
  readonly directory: string;
  /** Digest of what PostgreSQL was given last. */
  digest = "";
  /** Digest of whom it trusts. */
  trust = "";

  constructor(options: { readonly source: string; readonly directory: string }) {
    this.#source = options.source;
    this.directory = options.directory;
  }

  /** True when they have changed since the last time: PostgreSQL must read them again. */
  async refresh(): Promise<boolean> {
    const texts = await Promise.all(
      files.map(async (file) => await readFile(join(this.#source, file), "utf8")),
    );
    const digest = hash("sha256", texts.join("\n"));
    if (digest === this.digest) return false;
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    for (const [at, file] of files.entries()) {
      const draft = join(this.directory, `${file}.tmp`);
      await writeFile(draft, texts[at] ?? "", { mode: 0o600 });
      await rename(draft, join(this.directory, file));
    }
    this.digest = digest;
    this.trust = hash("sha256", texts[0] ?? "");
    return true;
  }
}
