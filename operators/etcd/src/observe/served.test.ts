import { X509Certificate } from "node:crypto";
import { newAuthority } from "@keelson/kit";
import { expect, test } from "vitest";
import type { EtcdContext } from "../resources/declaration.ts";
import { presentedBy } from "./served.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const [first, second] = ["first", "second"].map((name) => newAuthority(name, { nowMs }).certificate) as [
  string,
  string,
];

/** What members present by `name:port`; a port that is not there cannot be connected to. */
async function presented(
  shown: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, string>>,
  use: "peer" | "client" = "peer",
) {
  let open = 0;
  const ctx = {
    own: {
      pods: {
        list: () => [
          { metadata: { name: "x" } },
          { metadata: { name: "db-0" } },
          { metadata: { name: "db-1" } },
        ],
      },
    },
    connect: async (
      { pod: { namespace, name } }: { pod: { namespace: string; name: string } },
      port: number,
    ) => {
      expect(namespace).toBe("default");
      if (shown[`${name}:${port}`] === undefined) throw new Error("refused");
      open++;
      return { host: `${name}:${port}`, port, [Symbol.asyncDispose]: async () => void open-- };
    },
  } as unknown as EtcdContext;
  const inspect = async ({ host }: { host: string }) => new X509Certificate(shown[host] as string) as never;
  const answer = await presentedBy(inspect)(use, new Map(Object.entries(expected)), ctx);
  expect(open).toBe(0);
  return answer;
}

test("every member is to present its certificate, on the port of the use", async () => {
  const both = { "db-0": first, "db-1": second };
  expect(await presented({ "db-0:2380": first, "db-1:2380": second }, both)).toBe(true);
  expect(await presented({ "db-0:2379": first, "db-1:2379": second }, both, "client")).toBe(true);
  expect(await presented({ "db-0:2379": first, "db-1:2379": second }, both, "peer")).toBe(false);
  expect(await presented({ "db-0:2380": first, "db-1:2380": first }, both)).toBe(false);
  expect(await presented({ "db-0:2380": first }, both)).toBe(false);
});

test("a member without a pod presents nothing, and no member is not every one", async () => {
  expect(await presented({ "db-0:2380": first, "db-2:2380": first }, { "db-0": first, "db-2": first })).toBe(
    false,
  );
  expect(await presented({ "db-0:2380": first }, { "db-0": first })).toBe(true);
  expect(await presented({}, {})).toBe(false);
});
