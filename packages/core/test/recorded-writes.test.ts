/** The recorded answers of a real API server, compared with ours on any machine. */
import { readFileSync } from "node:fs";
import { test } from "vitest";
import { typesFromOpenApi } from "../src/merge/index.ts";
import { play } from "./play.ts";
import { type Recording, Replay, recordedKinds, recordingFile } from "./recording.ts";

test("ownership after recorded writes is the same", async () => {
  const recording = JSON.parse(readFileSync(recordingFile, "utf8")) as Recording;
  const replay = new Replay(recording);
  for (const kind of recordedKinds) await play(replay, kind, typesFromOpenApi(recording.definitions), 0, 6);
});
