/** Passwords without TLS on real etcd of every line: what the operator learns with the right one, an old one and none. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EtcdGateway } from "../../src/engine/gateway.ts";
import { ask, type Passwords } from "../../src/observe/ask.ts";
import { type EtcdTools, etcdTools, scratchDirectory, startEtcd } from "../backup/etcd-process.ts";

const lines = ["3.4", "3.5", "3.6", "3.7"] as const;
const located = await Promise.all(lines.map(async (line) => [line, await etcdTools(line)] as const));
const root = (password: string) => ({ user: "root", password, session: {} });

for (const [line, tools] of located) {
  const reason = "missing" in tools ? ` (skipped: ${tools.missing})` : "";
  describe.skipIf("missing" in tools)(`etcd ${line}${reason}`, () => {
    it("says that it accepts the previous password, and that it accepts none", {
      timeout: 60_000,
    }, async () => {
      await using directory = await scratchDirectory();
      const dataDirectory = join(directory.path, "m0");
      await using member = await startEtcd(tools as EtcdTools, { name: "m0", token: "t", dataDirectory });
      const address = { host: "127.0.0.1", port: member.port };
      await new EtcdGateway({ ...address, credentials: root("one") }).enableAuthentication();
      const asked = async (passwords?: Passwords) => {
        const connect = async () => ({ ...address, [Symbol.asyncDispose]: async () => {} });
        await using answers = await ask([{ name: "m0", connect }], {
          dial: (to) => new EtcdGateway(to),
          signal: new AbortController().signal,
          readThrough: false,
          passwords,
        });
        return { authentication: answers.authentication, listed: answers.list?.members.length };
      };
      expect(await asked({ current: root("one") })).toEqual({ authentication: "in", listed: 1 });
      expect(await asked({ current: root("two"), previous: root("one") })).toEqual({
        authentication: "previous",
        listed: 1,
      });
      expect(await asked({ current: root("two"), previous: root("three") })).toEqual({
        authentication: "out",
        listed: undefined,
      });
      expect(await asked()).toEqual({ authentication: "out", listed: undefined });
    });
  });
}
