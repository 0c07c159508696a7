/** The SampleDB operator as a process that dies when it is told to. */
import { dialRedis, sampleDB, sampleDBBackup } from "@keelson/sampledb-operator";
import { operator } from "keelson";
import { told, toldClient } from "../etcd/mortal.ts";

const changing = ["lead", "follow", "set", "setUser", "removeUser", "pauseWrites", "resume", "dropClients"];

const code = await operator({
  name: "sampledb-operator",
  client: await toldClient(),
  controllers: [
    sampleDB({
      dial: async (...to) => told(await dialRedis(...to), { of: "redis", changing }),
    }),
    sampleDBBackup(),
  ],
}).run();
// A client that was given is not closed, and would hold the process.
process.exit(code);
