import { apiServer } from "@keelson/apiserver";
import { createClient } from "@keelson/client";
import { expect, it } from "vitest";
import { builtinControllers } from "./builtin-controllers.ts";

it("leaves pods to somebody else's scheduler when told", async () => {
  await using api = await apiServer();
  const client = createClient({ http: api.http });
  const { signal } = new AbortController();
  const names = (scheduler?: boolean) =>
    builtinControllers({ client, signal, ...(scheduler === undefined ? {} : { scheduler }) }).map(
      ({ name }) => name,
    );
  expect(names().filter((name) => !names(false).includes(name))).toEqual(["default-scheduler"]);
});
