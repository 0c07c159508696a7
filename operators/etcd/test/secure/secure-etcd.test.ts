/** What TLS and passwords are built on, on real etcd of every line: what is read when, and what is asked of whom. */

import { spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { presentedCertificate } from "@keelson/kit";
import { createAuthority, createLeaf, type KeyPair } from "keelson/pki";
import { describe, expect, it } from "vitest";
import { EtcdGateway } from "../../src/engine/gateway.ts";
import { type EtcdTools, etcdTools, freePort, scratchDirectory } from "../backup/etcd-process.ts";

const lines = ["3.4", "3.5", "3.6", "3.7"] as const;
const located = await Promise.all(lines.map(async (line) => [line, await etcdTools(line)] as const));
const hourMs = 3_600_000;

const authority = (name: string) => createAuthority(name, Date.now() - hourMs, Date.now() + 24 * hourMs);
const leaf = (by: KeyPair, commonName: string) =>
  createLeaf(by, {
    subject: { commonName },
    names: ["localhost", "127.0.0.1"],
    usages: ["server", "client"],
    notBeforeMs: Date.now() - hourMs,
    notAfterMs: Date.now() + hourMs,
  });

for (const [line, tools] of located) {
  const reason = "missing" in tools ? ` (skipped: ${tools.missing})` : "";
  describe.skipIf("missing" in tools)(`etcd ${line}${reason}`, () => {
    it("loads a new certificate without a restart, and new authorities only with one", {
      timeout: 120_000,
    }, async () => {
      await using directory = await scratchDirectory();
      const [old, next] = [authority("old"), authority("next")];
      const place = join(directory.path, "tls");
      await mkdir(place);
      const put = async (bundle: readonly KeyPair[], pair: KeyPair) => {
        const trust = bundle.map(({ certificate }) => certificate).join("");
        await replace(join(place, "ca.crt"), trust);
        await replace(join(place, "tls.key"), pair.key);
        await replace(join(place, "tls.crt"), pair.certificate);
      };
      const first = leaf(old, "first");
      await put([old], first);
      const port = await freePort();
      const dial = (trust: KeyPair, own: KeyPair) =>
        new EtcdGateway({
          host: "127.0.0.1",
          port,
          tls: { ca: trust.certificate, cert: own.certificate, key: own.key, serverName: "localhost" },
        });
      const shown = async () => (await presentedCertificate({ host: "127.0.0.1", port }))?.fingerprint256;
      const fingerprint = ({ certificate }: KeyPair) => new X509Certificate(certificate).fingerprint256;
      {
        await using _ = await start(tools as EtcdTools, { directory: directory.path, place, port });
        const client = leaf(old, "client");
        await serves(dial(old, client));
        expect(await shown()).toBe(fingerprint(first));
        // Another certificate by the same authority is shown from the next connection on.
        const second = leaf(old, "second");
        await put([old, next], second);
        expect(await shown()).toBe(fingerprint(second));
        await dial(old, client).put("a", "1");
        // Trust was widened on disk, but not in the process that runs.
        await expect(dial(old, leaf(next, "client")).get("a", { timeoutMs: 2_000 })).rejects.toThrow();
        // Snapshots and hashes go the same way.
        expect((await dial(old, client).hashKv(2n)).revision).toBeGreaterThan(0n);
        expect(await size(dial(old, client).snapshot())).toBeGreaterThan(1_000);
      }
      {
        await using _ = await start(tools as EtcdTools, { directory: directory.path, place, port });
        const newcomer = leaf(next, "client");
        await serves(dial(old, newcomer));
        const third = leaf(next, "third");
        await put([old, next], third);
        expect(await shown()).toBe(fingerprint(third));
        expect((await dial(next, newcomer).get("a")).value).toBe("1");
        await dial(next, leaf(old, "client")).put("a", "2");
      }
    });

    it("requires a password once authentication is on, accepts the right one, and changes it", {
      timeout: 120_000,
    }, async () => {
      await using directory = await scratchDirectory();
      const old = authority("old");
      const place = join(directory.path, "tls");
      await mkdir(place);
      const own = leaf(old, "server");
      for (const [name, text] of [
        ["ca.crt", old.certificate],
        ["tls.crt", own.certificate],
        ["tls.key", own.key],
      ] as const)
        await writeFile(join(place, name), text);
      const port = await freePort();
      const client = leaf(old, "");
      const dial = (password?: string) =>
        new EtcdGateway({
          host: "127.0.0.1",
          port,
          tls: { ca: old.certificate, cert: client.certificate, key: client.key, serverName: "localhost" },
          ...(password === undefined ? {} : { credentials: { user: "root", password } }),
        });
      await using _ = await start(tools as EtcdTools, { directory: directory.path, place, port });
      await serves(dial());
      expect(await dial("one").authentication()).toBe("off");
      await dial("one").enableAuthentication();
      expect(await dial("one").authentication()).toBe("in");
      expect(await dial("two").authentication()).toBe("out");
      expect(await dial().authentication()).toBe("out");
      await expect(dial().get("a")).rejects.toMatchObject({ code: "Unauthenticated" });
      await expect(dial("two").get("a")).rejects.toMatchObject({ code: "Unauthenticated" });
      expect((await dial().status()).version).toBe((tools as EtcdTools).version);
      const root = dial("one");
      await root.put("a", "1");
      expect((await root.members()).members).toHaveLength(1);
      expect(await root.alarms()).toEqual([]);
      expect((await root.hashKv(2n)).hash).not.toBe("0");
      expect(await size(dial("one").snapshot())).toBeGreaterThan(1_000);
      await root.defragment();
      await root.compact(2n);
      await root.changePassword("two");
      expect(await dial("one").authentication()).toBe("out");
      expect((await dial("two").get("a")).value).toBe("1");
    });
  });
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

async function size(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of chunks) bytes += chunk.length;
  return bytes;
}

async function serves(etcd: EtcdGateway): Promise<void> {
  let last: unknown;
  for (let left = 300; left > 0; left--) {
    try {
      await etcd.get("up", { timeoutMs: 2_000 });
      return;
    } catch (error) {
      last = error;
    }
    await sleep(100);
  }
  throw last;
}

async function start(
  tools: EtcdTools,
  { directory, place, port }: { directory: string; place: string; port: number },
): Promise<AsyncDisposable> {
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const url = `https://127.0.0.1:${port}`;
  const child = spawn(
    tools.etcd,
    [
      "--name=m0",
      `--data-dir=${join(directory, "data")}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=m0=${peerUrl}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--cert-file=${place}/tls.crt`,
      `--key-file=${place}/tls.key`,
      `--trusted-ca-file=${place}/ca.crt`,
      "--client-cert-auth=true",
      "--log-level=error",
    ],
    { stdio: "ignore" },
  );
  const ended = once(child, "exit");
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
