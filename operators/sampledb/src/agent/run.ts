/** Which task is done by whom. */

import { readFile } from "node:fs/promises";
import { parseJson } from "keelson";
import { copy, fetchDump, rehearse, remove, verify } from "./backup.ts";
import { connectAll } from "./connect.ts";
import { type Initialization, initializationHash } from "./initialization.ts";
import { applyInitialization, migrate } from "./initialize.ts";
import { keepLedger } from "./ledger.ts";
import { restore } from "./restore.ts";
import type { AgentTask } from "./task.ts";

export async function runTask(task: AgentTask): Promise<object> {
  switch (task.do) {
    case "initialize": {
      const content = parseJson(await readFile(task.contentFile, "utf8")) as unknown as Initialization;
      const hash = initializationHash(content);
      if (hash !== task.hash)
        throw new Error(`the content is ${hash}, not ${task.hash}: the spec has changed since`);
      await using servers = await connectAll(task.access);
      return await applyInitialization(await servers.primary(), servers.all, content);
    }
    case "copy":
      return await copy(task);
    case "verify":
      return await verify(task);
    case "restore":
      return await restore(task);
    case "remove":
      return await remove(task);
    case "fetch":
      return await fetchDump(task);
    case "rehearse":
      return await rehearse(task);
    case "ledger":
      return await keepLedger();
    case "migrate": {
      await using servers = await connectAll(task.access);
      return { ran: await migrate(await servers.primary(), task.migrations, { guard: task.guard }) };
    }
  }
}
