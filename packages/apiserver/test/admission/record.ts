/** Records what the real server answers: `node --conditions=keelson-source packages/apiserver/test/admission/record.ts [NAME…]`. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { createAuthority, createLeaf } from "@keelson/pki";
import { startControlPlane } from "@keelson/reference/control-plane";
import { realPlayer } from "../validation/players.ts";
import { play, type Scenario } from "../validation/story.ts";
import { nodes } from "./nodes.ts";
import { plugins } from "./plugins.ts";
import { podSecurity } from "./pod-security.ts";
import { policies } from "./policies.ts";
import { answer } from "./webhook-answers.ts";
import { webhooks } from "./webhooks.ts";

const asked: unknown[] = [];
const validity = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
const authority = createAuthority("webhooks", validity.notBeforeMs, validity.notAfterMs);
const leaf = createLeaf(authority, {
  subject: { commonName: "127.0.0.1" },
  names: ["127.0.0.1"],
  usages: ["server"],
  ...validity,
});
const server = createServer({ key: leaf.key, cert: leaf.certificate }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const text = Buffer.concat(chunks).toString();
    asked.push({ url: request.url, review: JSON.parse(text) });
    const said = answer((request.url ?? "").split("?")[0] ?? "", text);
    if (!said) return;
    response.writeHead(said.status, {
      "content-type": said.status === 200 ? "application/json" : "text/plain",
    });
    response.end(said.body);
  });
});
await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
const { port } = server.address() as AddressInfo;
const place = {
  base: `https://127.0.0.1:${port}`,
  authority: Buffer.from(authority.certificate).toString("base64"),
  take: () => asked.splice(0),
};

const scenarios: Readonly<Record<string, Scenario>> = {
  nodes,
  plugins,
  "pod-security": podSecurity,
  policies,
  webhooks: webhooks(place),
};
const [, , ...chosen] = process.argv;
for (const [name, scenario] of Object.entries(scenarios)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const flags = { "kube-apiserver": ["--enable-admission-plugins=NodeRestriction"] };
  await using plane = await startControlPlane({ flags });
  await using player = realPlayer(plane.server, plane.token, 1500);
  const told = JSON.stringify(await play(scenario, player), undefined, 1).replaceAll(
    `127.0.0.1:${port}`,
    "webhooks",
  );
  writeFileSync(resolve(import.meta.dirname, `${name}.recorded.json`), `${told}\n`);
}
server.closeAllConnections();
server.close();
