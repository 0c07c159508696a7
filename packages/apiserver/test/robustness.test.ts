import { mkdtempSync, rmSync } from "node:fs";
import { request as plainRequest } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listenOnSocket } from "../src/http/listener.ts";
import { administrator } from "../src/index.ts";
import { configMap, configMaps, Server } from "./harness.ts";

const isStatus = (body: unknown) => (body as { kind?: string } | undefined)?.kind === "Status";

describe("whatever is sent", () => {
  it("is answered: any body, to any writable path, gives an object or a Status", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a"));
    const types = [
      "application/json",
      "application/yaml",
      "application/vnd.kubernetes.protobuf",
      "application/json-patch+json",
      "application/merge-patch+json",
      "application/strategic-merge-patch+json",
      "application/apply-patch+yaml",
      "text/plain",
    ];
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((text) => `{"apiVersion":"v1","kind":"ConfigMap","metadata":${text}}`),
      fc.json().map((text) => `{"metadata":{"name":"a"},"data":${text},"data":1}`),
      fc.json().map((text) => `{"spec":${text},"status":${text}}`),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => `k8s\0${Buffer.from(bytes).toString("latin1")}`),
    );
    const path = fc.constantFrom(
      configMaps,
      `${configMaps}/a`,
      "/api/v1/namespaces",
      "/apis/apps/v1/namespaces/default/deployments",
      "/apis/apps/v1/namespaces/default/deployments/d/scale",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      "/api/v1/namespaces/default/pods",
      "/api/v1/namespaces/default/pods/p/eviction",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("POST", "PUT", "PATCH", "DELETE"),
        path,
        fc.constantFrom(...types),
        body,
        async (method, at, type, text) => {
          const answer = await server.send(method, at, text, { type, query: { fieldManager: "fuzz" } });
          expect(answer.status).toBeGreaterThanOrEqual(200);
          if (answer.status >= 400) {
            expect(isStatus(answer.body)).toBe(true);
            expect(answer.body.code).toBe(answer.status);
            // A 500 is what the real server says to objects that do not fit their schema, and to nothing else.
            if (answer.status === 500)
              expect(answer.body.message).toMatch(/typed|resourceVersion should not be set|schema/);
          }
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("is answered: a number of more than 53 bits where a text belongs", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a"));
    const big = "9007199254740993";
    const token = Buffer.from(`{"v":${big},"rv":1,"start":"a"}`).toString("base64url");
    const eviction = `{"apiVersion":${big},"kind":${big},"metadata":{"name":"p"}}`;
    for (const answer of [
      await server.send("DELETE", `${configMaps}/a`, `{"kind":${big}}`),
      await server.send("DELETE", configMaps, `{"apiVersion":${big}}`),
      await server.send("POST", "/api/v1/namespaces/default/pods/p/eviction", eviction),
      await server.send("GET", configMaps, undefined, { query: { limit: "1", continue: token } }),
    ])
      expect(answer).toMatchObject({ status: 400, body: { kind: "Status", reason: "BadRequest" } });
  });

  it("is answered: any path and query gives an answer below 500", async () => {
    await using server = await Server.start();
    const part = fc.oneof(
      fc.constantFrom(
        "api",
        "apis",
        "v1",
        "namespaces",
        "default",
        "configmaps",
        "watch",
        "apps",
        "status",
        "..",
        "%2e%2e",
        "%",
        "openapi",
        "v3",
      ),
      fc.webSegment(),
    );
    const query = fc.oneof(
      fc.constantFrom(
        "",
        "limit=x",
        "limit=-1",
        "watch=1&timeoutSeconds=1&resourceVersion=zz",
        "labelSelector=%3D",
        "fieldSelector=a",
        "continue=%00",
        "resourceVersion=-1",
        "timeoutSeconds=9999999999999",
        "limit=99999999999999999999",
      ),
      fc.webQueryParameters(),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 7 }),
        query,
        fc.constantFrom("GET", "HEAD", "POST", "OPTIONS", "BREW"),
        async (parts, text, method) => {
          if (/(^|&)watch/.test(text) || parts.includes("watch")) return;
          const response = await server.api.http.request({ method, path: `/${parts.join("/")}?${text}` });
          expect(response.status).toBeLessThan(500);
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("may be nested as deeply as it likes", async () => {
    await using server = await Server.start();
    for (const depth of [500, 5000, 500_000]) {
      for (const text of [
        "[".repeat(depth) + "]".repeat(depth),
        `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
      ]) {
        const answer = await server.post(configMaps, `{"metadata":{"name":"deep"},"x":${text}}`);
        expect([201, 400, 409]).toContain(answer.status);
        const patch = await server.merge(`${configMaps}/none`, `{"x":${text}}`);
        expect([400, 404]).toContain(patch.status);
      }
    }
    const yaml = await server.send("POST", configMaps, "a: ".repeat(3) + "[".repeat(20_000), {
      type: "application/yaml",
    });
    expect(yaml.status).toBe(400);
  });

  it("may not blow up an alias of YAML into gigabytes", async () => {
    await using server = await Server.start();
    const lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"];
    for (let i = 1; i < 12; i++)
      lines.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(",")}]`,
      );
    const answer = await server.send("POST", configMaps, lines.join("\n"), { type: "application/yaml" });
    expect(answer.status).toBe(400);
  });

  it("keeps keys that JavaScript finds special", async () => {
    await using server = await Server.start();
    const text = '{"metadata":{"name":"p"},"data":{"__proto__":"x","constructor":"y","toString":"z"}}';
    const created = await server.post(configMaps, text);
    expect(created.status).toBe(201);
    expect(created.text).toContain('"__proto__":"x"');
    expect(({} as { x?: string }).x).toBeUndefined();
    const patched = await server.merge(`${configMaps}/p`, '{"data":{"__proto__":null,"constructor":"v"}}');
    expect(Object.keys(patched.body.data).sort()).toEqual(["constructor", "toString"]);
  });

  it("may hold integers that JavaScript cannot", async () => {
    await using server = await Server.start();
    const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
    const exact = '{"metadata":{"name":"r"},"revision":9007199254740993,"data":{}}';
    const created = await server.post(revisions, exact);
    expect(created.status).toBe(201);
    expect(created.text).toContain('"revision":9007199254740993');
    const negative = await server.post(revisions, exact.replace("900", "-900"));
    expect(negative.status).toBe(422);
    const pod = `{"metadata":{"name":"p"},"spec":{"terminationGracePeriodSeconds":9223372036854775807,
      "activeDeadlineSeconds":9223372036854775807,"securityContext":{"runAsUser":9223372036854775807},
      "containers":[{"name":"c","image":"i"}]}}`;
    expect((await server.post("/api/v1/namespaces/default/pods", pod)).status).toBe(422);
    const object =
      '{"metadata":{"name":"g","generation":9223372036854775807,"deletionGracePeriodSeconds":9223372036854775807}}';
    expect((await server.post(configMaps, object)).status).toBe(201);
    const options = { type: "application/json" };
    const deleted = await server.send(
      "DELETE",
      `${configMaps}/g`,
      '{"gracePeriodSeconds":9223372036854775807}',
      options,
    );
    expect(deleted.status).toBeLessThan(500);
  });
});

describe("over a socket", () => {
  async function listening() {
    const server = await Server.start();
    const directory = mkdtempSync(join(tmpdir(), "api-"));
    const socketPath = join(directory, "s");
    const listener = await listenOnSocket({ dispatch: server.api.dispatch, socketPath, user: administrator });
    return {
      server,
      socketPath,
      async [Symbol.asyncDispose]() {
        await listener.close();
        await server.api.close();
        rmSync(directory, { recursive: true });
      },
    };
  }

  const post = (socketPath: string, body: Buffer, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const outgoing = plainRequest(
        {
          socketPath,
          method: "POST",
          path: configMaps,
          headers: { "content-type": "application/json", ...headers },
        },
        (response) => {
          let text = "";
          response.on("data", (chunk) => {
            text += chunk;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      outgoing.on("error", reject);
      outgoing.end(body);
    });

  it("a body over the limit is refused with 413", async () => {
    await using at = await listening();
    const answer = await post(at.socketPath, Buffer.alloc(3 * 1024 * 1024 + 1, " "));
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", reason: "RequestEntityTooLarge" });
  });

  it("a short body that nobody reads does not keep its client from the answer, nor from the next", async () => {
    await using at = await listening();
    const socket = connect(at.socketPath);
    const statuses: string[] = [];
    const answered = new Promise<void>((resolve) => {
      socket.on("data", (chunk) => {
        statuses.push(...(String(chunk).match(/HTTP\/1\.1 \d{3}/g) ?? []));
        if (statuses.length === 2) resolve();
      });
    });
    const head = (path: string, length: number) =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: ${length}\r\n\r\n`;
    socket.write(head("/nowhere", 1_000_000));
    socket.write("x".repeat(1_000_000));
    socket.write(`${head(configMaps, 2)}{}`);
    await answered;
    expect(statuses).toEqual(["HTTP/1.1 404", "HTTP/1.1 415"]);
    socket.destroy();
  });

  it("a hundred clients that break off in the middle of a body leave it in order", async () => {
    await using at = await listening();
    await Promise.all(
      Array.from(
        { length: 100 },
        () =>
          new Promise<void>((resolve) => {
            const socket = connect(at.socketPath, () => {
              socket.write(
                `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"metadata"`,
                () => socket.destroy(),
              );
            });
            socket.on("error", () => {});
            socket.on("close", () => resolve());
          }),
      ),
    );
    const answer = await post(at.socketPath, Buffer.from(JSON.stringify(configMap("fine"))));
    expect(answer.status).toBe(201);
    expect((await at.server.get(configMaps)).body.items).toHaveLength(1);
  });

  it("any bytes get an answer or the door, and leave it in order", async () => {
    await using at = await listening();
    const whole = `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 27\r\n\r\n{"metadata":{"name":"raw"}}`;
    const line = fc.constantFrom(
      "GET / HTTP/1.1",
      "GET /api/v1/%00 HTTP/1.1",
      "PATCH * HTTP/1.1",
      "GET http://x/version HTTP/1.1",
      "CONNECT x:1 HTTP/1.1",
      "PRI * HTTP/2.0",
      "transfer-encoding: chunked",
      "content-length: 5",
      "content-length: -1",
      "expect: 100-continue",
      "upgrade: websocket",
      "connection: upgrade",
      "authorization: Bearer",
      "impersonate-user: ",
      "accept: ;;,;q=x",
      "content-type: ;",
      "ffffffffffffffff",
      "0",
      "",
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some)),
      fc.array(line, { maxLength: 12 }).map((lines) => Buffer.from(lines.join("\r\n"))),
      fc
        .array(fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) }), { maxLength: 4 })
        .map((changes) => {
          const changed = Buffer.from(whole);
          for (const { at: index, to } of changes) changed[index] = to;
          return changed;
        }),
    );
    await fc.assert(
      fc.asyncProperty(
        bytes,
        (sent) =>
          new Promise<void>((resolve) => {
            const socket = connect(at.socketPath, () => socket.end(sent));
            socket.on("error", () => undefined);
            socket.on("close", () => resolve());
            socket.resume();
          }),
      ),
      { numRuns: 500 },
    );
    expect((await post(at.socketPath, Buffer.from(JSON.stringify(configMap("fine"))))).status).toBe(201);
  });

  it("what is no HTTP gets 400 and the door", async () => {
    await using at = await listening();
    const text = await new Promise<string>((resolve) => {
      let out = "";
      const socket = connect(at.socketPath, () => socket.write("hello\r\n\r\n"));
      socket.on("data", (chunk) => {
        out += chunk;
      });
      socket.on("close", () => resolve(out));
    });
    expect(text).toMatch(/^HTTP\/1.1 400/);
  });
});
