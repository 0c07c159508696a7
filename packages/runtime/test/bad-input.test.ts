/** What a person gets wrong, and the one sentence that is said about it: the whole of it, as it is printed. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemWorld } from "@keelson/client";
import { type Condition, findCondition } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import {
  controller,
  done,
  install,
  type Logger,
  type Outcome,
  operator,
  silentLogger,
} from "@keelson/runtime";
import { cel, resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";

const Thing = resource({ group: "test.example.com", kind: "Thing", version: "v1", spec: z.object({}) });

/** The sentence that an operator ends with. */
async function said(work: () => unknown): Promise<string> {
  try {
    await work();
    return "nothing was wrong";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("a kubeconfig", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "keelson-bad-input-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const thing = controller(Thing, { reconcile: async () => done() });
  const start = (client: { kubeconfig?: string; context?: string }, env: Record<string, string> = {}) =>
    said(async () => {
      const world = { ...systemWorld, process: { ...systemWorld.process, env } };
      await operator({ controllers: [thing], client, world, log: silentLogger }).start();
    });
  const file = async (name: string, content: string) => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };

  test("that is missing", async () => {
    const path = join(folder, "absent");
    expect(await start({ kubeconfig: path })).toBe(
      `the kubeconfig ${path} does not exist; set KUBECONFIG or pass the path of one`,
    );
    expect(await start({}, { KUBECONFIG: `${path}:${path}2` })).toBe(
      `no kubeconfig: ${path}, ${path}2 do not exist; set KUBECONFIG or pass the path of one`,
    );
    expect(await start({})).toBe(
      "no kubeconfig: KUBECONFIG is not set and there is no home directory; pass the path of one",
    );
  });

  test("that is malformed", async () => {
    const broken = await file("broken", "clusters:\n- name: a\n  cluster: [\n");
    expect(await start({ kubeconfig: broken })).toBe(
      `the kubeconfig ${broken} is not YAML: line 4: Flow sequence in block collection must be sufficiently indented and end with a ]; correct it, or set KUBECONFIG to another file`,
    );
    const list = await file("list", "- a\n");
    expect(await start({ kubeconfig: list })).toBe(
      `the kubeconfig ${list} is malformed: the document must be a mapping with clusters, users and contexts; is it another file?`,
    );
    const number = await file("number", "clusters: [{name: c, cluster: {server: 8080}}]");
    expect(await start({ kubeconfig: number })).toBe(
      `the kubeconfig ${number} is malformed: clusters[0].cluster.server must be a string; put it in quotes`,
    );
  });

  test("that names an absent context", async () => {
    const path = await file(
      "contexts",
      "clusters: [{name: c, cluster: {server: 'https://localhost'}}]\ncontexts: [{name: dev, context: {cluster: c}}, {name: prod, context: {cluster: c}}]\ncurrent-context: gone\n",
    );
    expect(await start({ kubeconfig: path })).toBe(`${path} has no context "gone"; choose one of dev, prod`);
    expect(await start({ kubeconfig: path, context: "test" })).toBe(
      `${path} has no context "test"; choose one of dev, prod`,
    );
    const empty = await file("empty", "");
    expect(await start({ kubeconfig: empty })).toBe(
      `${empty} has no current-context; there is no context at all; is KUBECONFIG set to the right file?`,
    );
  });

  test("of a server that is not there", async () => {
    const path = await file(
      "nobody",
      "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\ncontexts: [{name: dev, context: {cluster: c}}]\ncurrent-context: dev\n",
    );
    expect((await start({ kubeconfig: path })).replace("/apis", "/api")).toBe(
      "cannot discover the kinds under /api: no connection to http://127.0.0.1:9: nobody listens there (connection refused); is the API server running?",
    );
  });
});

describe("a resource", () => {
  test("whose schema has a cycle", async () => {
    const tree: z.ZodType = z.object({
      name: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    const made = () =>
      resource({ group: "a.example.com", kind: "Tree", version: "v1", spec: z.object({ root: tree }) });
    expect(await said(made)).toBe(
      "spec.root.children[]: the schema contains itself, and a structural schema cannot; describe the levels you need one by one, or store the rest with preserveUnknown()",
    );
  });

  test("whose CRD the server refuses", async () => {
    vi.stubEnv("KUBERNETES_SERVICE_HOST", "left to the server");
    const Refused = resource({
      group: "a.example.com",
      kind: "Refused",
      version: "v1",
      spec: z.object({ size: z.int().check(cel("self >", "too few")) }),
    });
    vi.unstubAllEnvs();
    await using c = await cluster();
    expect(await said(() => install(c.client, [Refused]))).toBe(
      "cannot install refuseds.a.example.com: the server refuses spec.size (rule 1): compilation failed: ERROR: <input>:1:7: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}; correct it in resource({ kind: \"Refused\" })",
    );
  });
});

describe("a controller", () => {
  test("that owns its own kind", async () => {
    expect(
      await said(() => controller(Thing, { owns: { others: Thing }, compose: () => ({ children: {} }) })),
    ).toBe(
      'controller of Thing.test.example.com cannot own its own kind (slot "others"): every child would be reconciled as a parent; own another kind, or read the others with reads: { peers: all(…) }',
    );
  });

  test.each<[string, () => Promise<Outcome>, string]>([
    [
      "throws",
      async () => {
        throw new Error("the disk of node-3 is full");
      },
      "the disk of node-3 is full",
    ],
    [
      "returns nothing",
      async () => undefined as never,
      'reconcile of controller "thing" returned nothing; it must end with done(), waiting() or fail()',
    ],
    [
      "returns something else",
      async () => ({ requeue: true }) as never,
      'reconcile of controller "thing" returned {"requeue":true}; it must end with done(), waiting() or fail()',
    ],
    [
      "never ends",
      () => new Promise(() => {}),
      "the reconcile of Thing.test.example.com default/a did not end within 10 s; pass ctx.signal to what it waits for, or return waiting() and let a watch or recheckMs bring it back",
    ],
  ])("whose reconcile %s", async (_what, reconcile, sentence) => {
    const lines: string[] = [];
    const log: Logger = {
      ...silentLogger,
      warn: (message, fields) =>
        lines.push(
          `${message}: ${fields?.["key"]}: ${String((fields?.["error"] as Error | undefined)?.message)}`,
        ),
      child: () => log,
    };
    const thing = controller(Thing, {
      owns: { config: ConfigMap },
      timeoutMs: 10_000,
      reconcile,
    });
    await using c = await cluster({ controllers: [thing], log });
    await c.client.kind(Thing).create({ metadata: { namespace: "default", name: "a" }, spec: {} });
    await c.advance(60_000);
    const { status } = await c.client.kind(Thing).get({ namespace: "default", name: "a" });
    const ready = findCondition(status?.conditions as Condition[], "Ready");
    expect(ready).toMatchObject({ status: "False", message: sentence, observedGeneration: 1 });
    expect(lines[0]).toBe(`the reconcile failed and will be tried again: default/a: ${sentence}`);
    // Tried again, and less and less often.
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.length).toBeLessThan(20);
  });
});
