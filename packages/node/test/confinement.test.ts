/** What a hostile container tries against its node, as root and as an ordinary user: none of it may succeed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { type Sandboxes, sh, startSandboxes } from "./sandboxes.ts";

const reason = await whyNoSandbox();

describe.skipIf(reason !== undefined)(titled("a hostile container", reason), () => {
  let sandboxes: Sandboxes;
  beforeAll(async () => {
    sandboxes = await startSandboxes();
  }, 300_000);
  afterAll(async () => await sandboxes?.[Symbol.asyncDispose]());

  test("that replaces its working directory by a link does not draw exec out of its root", async () => {
    await sandboxes.start({
      id: "cwd",
      cwd: "/work",
      command: sh("cd /; rmdir /work; ln -s / /work; echo mark > /inside; touch /ready; sleep 100000"),
    });
    await sandboxes.exec("cwd", "until [ -e /ready ]; do :; done");
    expect(await sandboxes.exec("cwd", "cat inside")).toMatchObject({ stdout: "mark\n" });
  });
});
