import { readFile } from "node:fs/promises";
import { cluster } from "@keelson/testing";
import { Deployment } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import { Memcached, memcached } from "../src/readme.ts";

describe("README.md", async () => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");

  test("shows the code that is run here, and no other", async () => {
    const source = await readFile(new URL("../src/readme.ts", import.meta.url), "utf8");
    const [comment = ""] = source.split("\n");
    const printed = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
    expect(printed).toEqual([source.slice(comment.length + 1)]);
  });

  test("has code, command and requirements on its first screen", () => {
    expect(readme.split("\n").indexOf("## What is in the box")).toBeLessThan(40);
  });

  test("its operator makes a Deployment and follows its spec", async () => {
    await using c = await cluster({ controllers: [memcached], workloads: true });
    const ref = { namespace: "default", name: "cache" };
    await c.client.kind(Memcached).create({ metadata: ref, spec: {} });
    await c.converges({ writesWhenIdle: 0 });
    const replicas = async () => (await c.client.kind(Deployment).get(ref)).spec?.replicas;
    expect(await replicas()).toBe(3);
    await c.client.kind(Memcached).patch(ref, { type: "merge", body: { spec: { size: 5 } } });
    await c.until(async () => (await replicas()) === 5);
  });
});
