import { expect, test } from "vitest";
import type { EtcdClusterObject } from "../api/cluster.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { readPasswords, type Sessions } from "./passwords.ts";

const cluster = {
  metadata: { name: "example", namespace: "default", uid: "u" },
  spec: { auth: { rootSecret: "root" } },
} as unknown as EtcdClusterObject;

async function read(data: Record<string, string> | undefined) {
  const encoded = Object.entries(data ?? {}).map(([key, text]) => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  const secret = data && { metadata: { name: "root" }, data: Object.fromEntries(encoded) };
  const ctx = { client: { kind: () => ({ find: async () => secret }) } } as unknown as EtcdContext;
  return await readPasswords(cluster, ctx, new Map());
}

test.each<[string, Record<string, string> | undefined, string]>([
  ["no Secret", undefined, "spec.auth names the Secret root, which does not exist"],
  ["a Secret without a password", { other: "x" }, "the Secret root of spec.auth needs the key password"],
  ["an empty password", { password: " \n" }, "the Secret root of spec.auth needs the key password"],
])("%s is a problem that is told", async (_, data, problem) => {
  expect(await read(data)).toEqual({ problem });
});

test("a password is read without the line end that files have, and the one before it too", async () => {
  expect(await read({ password: "new\n", previousPassword: "old\n" })).toMatchObject({
    passwords: { current: { user: "root", password: "new" }, previous: { user: "root", password: "old" } },
  });
  expect((await read({ password: "new" })).passwords).not.toHaveProperty("previous");
});

test("what etcd issued for a password is remembered, for each password of each cluster", async () => {
  const sessions: Sessions = new Map();
  const ctxOf = (password: string) => {
    const data = { password: Buffer.from(password).toString("base64") };
    const secret = { metadata: { name: "root" }, data };
    return { client: { kind: () => ({ find: async () => secret }) } } as unknown as EtcdContext;
  };
  const session = async (password: string, uid = "u") => {
    const of = { ...cluster, metadata: { ...cluster.metadata, uid } } as EtcdClusterObject;
    return (await readPasswords(of, ctxOf(password), sessions)).passwords?.current.session;
  };
  const issued = await session("one");
  if (issued) issued.token = "t";
  expect(await session("one")).toEqual({ token: "t" });
  expect(await session("two")).toEqual({});
  expect(await session("one", "u2")).toEqual({});
});
