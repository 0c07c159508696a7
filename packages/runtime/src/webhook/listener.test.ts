/** The listener and what it serves with, over real sockets. */
import { once } from "node:events";
import { request } from "node:https";
import type { Client } from "@keelson/client";
import { systemClock } from "@keelson/core";
import { expect, test } from "vitest";
import { silentLogger } from "../log/logger.ts";
import { planCertificates } from "./certificates.ts";
import { CertificateKeeper } from "./keeper.ts";
import { httpsListen } from "./listener.ts";

test("idle connections are left to the API server, which closes them after 90 s", async () => {
  const listen = httpsListen({ port: 0, host: "127.0.0.1", clock: systemClock });
  const listener = await listen(async () => ({ status: 200, body: "{}" }));
  listener.load(planCertificates({}, ["localhost"], Date.now()).certificates);
  const asked = request({
    host: "127.0.0.1",
    port: listener.port,
    method: "POST",
    rejectUnauthorized: false,
  });
  asked.setHeader("connection", "keep-alive");
  asked.end("{}");
  const [response] = await once(asked, "response");
  response.resume();
  const seconds = Number(/timeout=(\d+)/.exec(response.headers["keep-alive"])?.[1]);
  expect(seconds).toBeGreaterThan(90);
  await listener.close(1_000);
});

test("a certificate that cannot be served is told, and does not end the process", async () => {
  const stop = new AbortController();
  const tried = Promise.withResolvers<void>();
  const keeper = new CertificateKeeper({
    ...{ client: {} as Client, clock: systemClock, log: silentLogger, signal: stop.signal },
    ...{ mode: "own", namespace: "default", secret: "ops-webhook", names: ["localhost"] },
    load: () => {
      tried.resolve();
      throw new Error("key values mismatch");
    },
  });
  keeper.start();
  await tried.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(keeper.problem()).toBe("Secret ops-webhook cannot be served: key values mismatch");
  stop.abort();
  await keeper.ended();
});
