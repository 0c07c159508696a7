/** The life of an operator: endpoints, metrics, signals, a deadline for the end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { apiServer } from "@keelson/apiserver";
import { ClientError, createClient, systemWorld } from "@keelson/client";
import { ConfigMap, Lease } from "@keelson/core/kinds";
import { controller, done, fail, type Outcome, operator, silentLogger } from "@keelson/runtime";
import { rawController, watch } from "@keelson/runtime/internal";
import { describe, expect, test } from "vitest";
import { eventually } from "./servers.ts";

async function setup(reconcile: (key: string) => Promise<void>, shutdownMs = 20_000) {
  const server = await apiServer();
  const client = createClient({ http: server.http, host: "10.0.0.1:443" });
  const copier = rawController({
    name: "copier",
    watches: { configs: watch(ConfigMap, { namespace: "default" }) },
    reconcile,
  });
  const running = await operator({
    controllers: [copier],
    client,
    log: silentLogger,
    endpoints: { port: 0, host: "127.0.0.1" },
    shutdownMs,
  }).start();
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${running.port}${path}`);
    return { status: response.status, body: await response.text() };
  };
  return { server, client, running, get };
}

describe("endpoints", () => {
  test("tell health, readiness and metrics under the names that dashboards know", async () => {
    let failures = 1;
    const { client, running, get } = await setup(async () => {
      if (failures-- > 0) throw new Error("once");
    });
    await client.kind(ConfigMap).create({ metadata: { namespace: "default", name: "a" } });
    await eventually(async () => {
      const { body } = await get("/metrics");
      expect(body).toContain('controller_runtime_reconcile_total{controller="copier",result="success"} 1');
      expect(body).toContain('controller_runtime_reconcile_errors_total{controller="copier"} 1');
      expect(body).toContain('controller_runtime_max_concurrent_reconciles{controller="copier"} 4');
      expect(body).toContain('workqueue_retries_total{name="copier",controller="copier"} 1');
      expect(body).toContain('workqueue_depth{name="copier",controller="copier"} 0');
      expect(body).toContain('leader_election_master_status{name="copier"} 1');
      expect(body).toMatch(
        /rest_client_requests_total\{code="200",host="10\.0\.0\.1:443",method="GET"\} \d+/,
      );
      expect(body).toContain('keelson_cache_objects{kind="ConfigMap"}');
      for (const name of [
        "controller_runtime_reconcile_time_seconds_bucket",
        "controller_runtime_active_workers",
        "workqueue_adds_total",
        "workqueue_queue_duration_seconds_sum",
        "workqueue_work_duration_seconds_count",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
      ]) {
        expect(body).toContain(name);
      }
    });
    expect(await get("/healthz")).toEqual({ status: 200, body: "ok" });
    expect(await get("/readyz")).toEqual({ status: 200, body: "ok" });
    expect((await get("/other")).status).toBe(404);
    await running.stop();
    await expect(get("/healthz")).rejects.toThrow();
  });
});

describe("an operator whose API server does not answer", () => {
  async function begin() {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<never>();
    const request = () => {
      asked.resolve();
      return answer.promise;
    };
    let port: unknown;
    const log = {
      ...silentLogger,
      info: (_message: string, fields?: object) => {
        port ??= (fields as { port?: unknown } | undefined)?.port;
      },
    };
    const starting = operator({
      controllers: [
        rawController({ name: "copier", watches: { configs: watch(ConfigMap) }, reconcile: async () => {} }),
      ],
      client: createClient({ http: { request }, retries: 0 }),
      log,
      endpoints: { port: 0, host: "127.0.0.1" },
    }).start();
    starting.catch(() => {});
    await asked.promise;
    const get = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: response.status, body: await response.text() };
    };
    return { starting, answer, get };
  }

  test("is alive and not ready", async () => {
    const { starting, answer, get } = await begin();
    expect(await get("/healthz")).toEqual({ status: 200, body: "ok" });
    expect(await get("/readyz")).toEqual({ status: 503, body: "the operator is starting" });
    expect((await get("/metrics")).status).toBe(200);
    answer.reject(new Error("the server is gone"));
    await expect(starting).rejects.toThrow("the server is gone");
    await expect(get("/healthz")).rejects.toThrow();
  });
});

describe("an operator in a pod whose API server is gone when it starts", () => {
  test("is alive, says so, and begins when it is back", async () => {
    const server = await apiServer();
    let gone = true;
    const client = createClient({
      retries: 0,
      http: {
        request: async (request) => {
          if (gone) throw new ClientError("ConnectionFailed", "nobody listens there");
          return await server.http.request(request);
        },
      },
    });
    const warned = Promise.withResolvers<void>();
    let port: unknown;
    const log = {
      ...silentLogger,
      info: (_message: string, fields?: object) => {
        port ??= (fields as { port?: unknown } | undefined)?.port;
      },
      warn: () => warned.resolve(),
    };
    const process = { ...systemWorld.process, env: { KUBERNETES_SERVICE_HOST: "10.0.0.1" } };
    const starting = operator({
      controllers: [
        rawController({ name: "copier", watches: { configs: watch(ConfigMap) }, reconcile: async () => {} }),
      ],
      ...{ client, log, world: { ...systemWorld, process }, leaderElection: false },
      endpoints: { port: 0, host: "127.0.0.1" },
    }).start();
    await warned.promise;
    const get = async (path: string) => await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    expect(await get("/healthz")).toBe("ok");
    expect(await get("/readyz")).toBe(
      "the operator waits for the API server: cannot discover the kinds under /api: nobody listens there",
    );
    gone = false;
    const running = await starting;
    expect(await get("/readyz")).toBe("ok");
    await running.stop();
  });
});

describe("an operator whose cache cannot follow its kind any more", () => {
  test("says why, and ends", async () => {
    const server = await apiServer();
    const cut = Promise.withResolvers<never>();
    cut.promise.catch(() => {});
    let broken = false;
    async function* severed(body: AsyncIterable<Uint8Array>) {
      const chunks = body[Symbol.asyncIterator]();
      for (;;) {
        const next = await Promise.race([chunks.next(), cut.promise]);
        if (next.done) return;
        yield next.value;
      }
    }
    const refusal = (code: number) => {
      const status = {
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        code,
        message: "field not supported",
      };
      return { status: code, headers: {}, body: [Buffer.from(JSON.stringify(status))] as never };
    };
    const client = createClient({
      http: {
        request: async (request) => {
          if (!request.path.includes("/configmaps")) return await server.http.request(request);
          if (broken) return refusal(/watch=true.*resourceVersion=/.test(request.path) ? 410 : 400);
          const response = await server.http.request(request);
          return request.streaming ? { ...response, body: severed(response.body) } : response;
        },
      },
    });
    const running = await operator({
      controllers: [
        rawController({ name: "copier", watches: { configs: watch(ConfigMap) }, reconcile: async () => {} }),
      ],
      client,
      log: silentLogger,
    }).start();
    broken = true;
    cut.reject(new Error("reset"));
    expect((await running.failed).message).toContain("field not supported");
    expect(running.ready()).toContain("field not supported");
    await running.stop();
    await server.close();
  });
});

describe("metrics", () => {
  test("tell errors that are not tried again, mistakes and timeouts apart", async () => {
    const ends: Record<string, () => Promise<Outcome>> = {
      terminal: async () => fail("Broken", "it is broken"),
      mistake: async () => (undefined as unknown as { name: string }).name as never,
      late: () => new Promise(() => {}),
      other: async () => {
        throw new Error("as happens");
      },
    };
    const thing = controller(ConfigMap, {
      name: "thing",
      labels: "end",
      timeoutMs: 50,
      reconcile: async (object) => await (ends[object.metadata.labels?.["end"] ?? ""]?.() ?? done()),
    });
    await using server = await apiServer();
    const client = createClient({ http: server.http });
    await using running = await operator({
      controllers: [thing],
      client,
      log: silentLogger,
      endpoints: { port: 0, host: "127.0.0.1" },
    }).start();
    for (const name of Object.keys(ends)) {
      await client
        .kind(ConfigMap)
        .create({ metadata: { namespace: "default", name, labels: { end: name } } });
    }
    await eventually(async () => {
      const body = await (await fetch(`http://127.0.0.1:${running.port}/metrics`)).text();
      const value = (name: string) =>
        Number(
          new RegExp(`^controller_runtime_${name}\\{controller="thing"\\} (\\d+)$`, "m").exec(body)?.[1],
        );
      expect(value("terminal_reconcile_errors_total")).toBe(1);
      expect(value("reconcile_panics_total")).toBeGreaterThan(0);
      expect(value("reconcile_timeouts_total")).toBeGreaterThan(0);
      expect(value("reconcile_errors_total")).toBeGreaterThanOrEqual(4);
      expect(body).toContain('controller_runtime_reconcile_total{controller="thing",result="requeue"} 0');
    });
  });
});

describe("the end", () => {
  test("gives the lease back, but not while a reconcile goes on that was told to end", async () => {
    for (const listens of [true, false]) {
      await using server = await apiServer();
      const client = createClient({ http: server.http });
      const begun = Promise.withResolvers<void>();
      const stuck = rawController({
        name: "stuck",
        watches: { configs: watch(ConfigMap, { namespace: "default" }) },
        reconcile: async (_key, { signal }) => {
          begun.resolve();
          await new Promise<void>((resolve) => {
            if (listens) signal.addEventListener("abort", () => resolve());
          });
        },
      });
      const running = await operator({
        controllers: [stuck],
        client,
        log: silentLogger,
        leaderElection: { name: "stuck", identity: "me" },
        shutdownMs: 50,
      }).start();
      await client.kind(ConfigMap).create({ metadata: { namespace: "default", name: "a" } });
      await begun.promise;
      await running.stop();
      expect(running.stragglers).toBe(listens ? 0 : 1);
      const lease = await client.kind(Lease).get({ namespace: "default", name: "stuck" });
      expect(lease.spec?.holderIdentity).toBe(listens ? "" : "me");
    }
  });

  test("waits for what is under way", async () => {
    let ended = false;
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { client, running, get } = await setup(async () => {
      begun.resolve();
      await gate.promise;
      ended = true;
    });
    await client.kind(ConfigMap).create({ metadata: { namespace: "default", name: "a" } });
    await begun.promise;
    const stopped = running.stop();
    expect(await get("/readyz")).toEqual({ status: 503, body: "the operator is stopping" });
    expect(ended).toBe(false);
    gate.resolve();
    await stopped;
    expect(ended).toBe(true);
  });

  test("does not wait for what never ends", async () => {
    const begun = Promise.withResolvers<void>();
    const { client, running } = await setup(async () => {
      begun.resolve();
      await new Promise(() => {});
    }, 50);
    await client.kind(ConfigMap).create({ metadata: { namespace: "default", name: "a" } });
    await begun.promise;
    await running.stop();
  });

  const script = fileURLToPath(new URL("./operator-process.ts", import.meta.url));
  const start = (mode: string) =>
    spawn(process.execPath, ["--conditions=keelson-source", script, mode], {
      stdio: ["ignore", "pipe", "inherit"],
    });

  test("comes with SIGTERM: the process stops in good order and leaves with 0", async () => {
    const child = start("runs");
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await eventually(() => expect(output).toContain("caches are complete"), 60_000);
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(output).toContain('"msg":"stopping"');
    expect(code).toBe(0);
  });

  test("comes also while it waits for an API server", async () => {
    const child = start("alone");
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await eventually(() => expect(output).toContain("the API server does not answer"), 60_000);
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(output).not.toContain('"level":"error"');
    expect(output).not.toContain("keeps the process alive");
    expect(code).toBe(0);
  });

  test("comes also when something of the author's keeps the process alive, after what follows run()", async () => {
    const child = start("open");
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await eventually(() => expect(output).toContain("at work"), 60_000);
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(output).toContain("run() has ended");
    expect(output).toContain("something keeps the process alive after the operator has stopped");
    expect(output).toContain("Timeout");
    expect(output).not.toContain('"level":"info"');
    expect(code).toBe(0);
  });

  test("comes also when a reconcile goes on for ever", async () => {
    const child = start("stuck");
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    await eventually(() => expect(output).toContain("stuck for ever"), 60_000);
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect(output).toContain(
      "reconciles go on although they were told to end: the process ends without them",
    );
    expect(code).toBe(0);
  });

  test("comes at once with 1 and a sentence when the operator cannot start", async () => {
    const child = start("missing-kind");
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    const [code] = await once(child, "exit");
    expect(output).toContain("which the cluster does not serve");
    expect(code).toBe(1);
  });
});
