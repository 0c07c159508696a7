/** Records what the real server answers: `node --conditions=keelson-source packages/apiserver/test/validation/record.ts`. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { startControlPlane } from "@keelson/reference/control-plane";
import { playCreates } from "./creates.ts";
import { realPlayer } from "./players.ts";

await using plane = await startControlPlane();
await using player = realPlayer(plane.server, plane.token, 1500);
const target = resolve(import.meta.dirname, "creates.recorded.json");
writeFileSync(target, `${JSON.stringify(await playCreates(player), undefined, 1)}\n`);
