/** Uses servers in process, closes them, and must then end by itself; prints what still keeps it from ending. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiServer } from "../src/index.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const directory = mkdtempSync(join(tmpdir(), "dispose-"));
const before = process.getActiveResourcesInfo();
for (const options of [{}, { dataDir: directory }]) {
  const api = await apiServer(options);
  const watch = await api.http.request({ method: "GET", path: `${maps}?watch=true`, streaming: true });
  const reading = (async () => {
    for await (const _ of watch.body);
  })();
  await api.http.request({ method: "GET", path: `${maps}?watch=true`, streaming: true });
  const body = Buffer.from(JSON.stringify({ metadata: { name: "a" } }));
  await api.http.request({
    method: "POST",
    path: maps,
    headers: { "content-type": "application/json" },
    body,
  });
  await api.close();
  await reading;
  await api.close();
}
rmSync(directory, { recursive: true });
// The callback that brought us here counts as active until it returns.
await new Promise((resolve) => setImmediate(resolve));
const left = process.getActiveResourcesInfo();
for (const name of before) if (left.includes(name)) left.splice(left.indexOf(name), 1);
process.stdout.write(JSON.stringify(left));
