/** How webhooks are called by URL: paths and certificates as Go's suites give them. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, createLeaf } from "@keelson/pki";
import { expect, test } from "vitest";
import { configMap, configMaps, Server } from "./harness.ts";

test("a path is cleaned, and the webhook's own certificate may be what is trusted", async () => {
  const [notBeforeMs, notAfterMs] = [Date.now() - 60_000, Date.now() + 3_600_000];
  const { certificate, key } = createLeaf(createAuthority("webhooks", notBeforeMs, notAfterMs), {
    subject: { commonName: "webhook" },
    ...{ names: ["127.0.0.1"], usages: ["server"], notBeforeMs, notAfterMs },
  });
  const paths: string[] = [];
  const webhook = createServer({ cert: certificate, key }, async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    paths.push(request.url ?? "");
    const { uid } = JSON.parse(text).request;
    const answer = { uid, allowed: false, status: { message: "denied here" } };
    response.end(
      JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response: answer }),
    );
  }).listen(0, "127.0.0.1");
  await once(webhook, "listening");
  await using server = await Server.start();
  await server.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
    metadata: { name: "denying" },
    webhooks: [
      {
        name: "denying.example.com",
        clientConfig: {
          url: `https://127.0.0.1:${(webhook.address() as AddressInfo).port}//failing/`,
          caBundle: Buffer.from(certificate).toString("base64"),
        },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  });
  const { status, body } = await server.post(configMaps, configMap("a"));
  expect([status, body.message]).toEqual([400, expect.stringContaining("denied here")]);
  expect(paths).toEqual([expect.stringMatching(/^\/failing\?timeout=/)]);
  webhook.closeAllConnections();
  webhook.close();
});
