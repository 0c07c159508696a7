import { createClient } from "@keelson/client";
import type { HttpRequest } from "@keelson/core";
import { ConfigMap, Secret } from "@keelson/core/kinds";
import { expect, test } from "vitest";
import { InformerSet } from "../cache/informer-set.ts";
import { TrackedClient } from "../cache/tracked-client.ts";
import { controller } from "../controller/controller.ts";
import { allow } from "../controller/declaration.ts";
import { done } from "../controller/outcome.ts";
import { PermissionCheck } from "../controller/permissions.ts";
import { grantedKind, grantedSubresource } from "./granted-client.ts";

test("a request ends with its reconcile, also when it has a signal of its own", async () => {
  const sent: HttpRequest[] = [];
  const http = {
    request: (request: HttpRequest) => {
      sent.push(request);
      return new Promise<never>((_, reject) => {
        request.signal?.addEventListener("abort", () => reject(request.signal?.reason));
      });
    },
  };
  const client = createClient({ http });
  const reconcile = new AbortController();
  const granted = grantedKind(
    {
      client: new TrackedClient({ client, informers: new InformerSet({ client, clock: client.clock }) }),
      permissions: new PermissionCheck(
        controller(ConfigMap, { writes: [allow(ConfigMap, ["update"])], reconcile: async () => done() }),
      ),
      check: () => {},
      scope: reconcile,
      fieldManager: "test",
    },
    ConfigMap,
  );
  const own = new AbortController();
  const plain = granted.get({ namespace: "default", name: "a" });
  const signalled = granted.get({ namespace: "default", name: "b" }, { signal: own.signal });
  const sooner = granted.get({ namespace: "default", name: "c" }, { signal: own.signal, timeoutMs: 1_000 });
  own.abort(new Error("the caller has had enough"));
  await expect(sooner).rejects.toThrow("the caller has had enough");
  await expect(signalled).rejects.toThrow("the caller has had enough");
  const later = granted.get({ namespace: "default", name: "d" }, { signal: new AbortController().signal });
  reconcile.abort(new Error("the lease is lost"));
  await expect(plain).rejects.toThrow("the lease is lost");
  await expect(later).rejects.toThrow("the lease is lost");
  expect(sent).toHaveLength(4);
});

test("nothing is sent that was not declared, neither for an object nor for a part of it", async () => {
  const sent: HttpRequest[] = [];
  const http = {
    request: (request: HttpRequest) => {
      sent.push(request);
      return Promise.reject(new Error("sent"));
    },
  };
  const client = createClient({ http });
  const options = {
    client: new TrackedClient({ client, informers: new InformerSet({ client, clock: client.clock }) }),
    permissions: new PermissionCheck(controller(ConfigMap, { reconcile: async () => done() })),
    check: () => {},
    scope: new AbortController(),
    fieldManager: "test",
  };
  const ref = { namespace: "default", name: "a" };
  const object = { metadata: ref };
  const patch = { type: "merge", body: {} } as const;
  const kind = grantedKind(options, Secret);
  const part = grantedSubresource(options, Secret, "status");
  const attempts = [
    () => kind.get(ref),
    () => kind.find(ref),
    () => kind.list(),
    () => kind.create(object),
    () => kind.update(object as never),
    () => kind.patch(ref, patch),
    () => kind.apply(object),
    () => kind.delete(ref),
    () => kind.deleteAll({ namespace: "default" }),
    () => part.get(ref),
    () => part.create(ref, object as never),
    () => part.update(object as never),
    () => part.patch(ref, patch),
    () => part.apply(object),
  ];
  for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: "NotDeclared" });
  expect(sent).toEqual([]);
});

test("what the server answers of a part of an object comes back, whatever was asked", async () => {
  const names = ["get", "create", "update", "patch", "apply"] as const;
  const verbs = Object.fromEntries(names.map((verb) => [verb, async () => `${verb} answered`]));
  const asked = grantedSubresource(
    {
      client: { kind: () => ({ subresource: () => verbs }) } as unknown as TrackedClient,
      permissions: { require: () => {} } as unknown as PermissionCheck,
      ...{ check: () => {}, scope: new AbortController(), fieldManager: "test" },
    },
    Secret,
    "part",
  );
  const ref = { namespace: "default", name: "a" };
  const object = { metadata: ref } as never;
  const answers = [
    await asked.get(ref),
    await asked.create(ref, {} as never),
    await asked.update(object),
    await asked.patch(ref, { type: "merge", body: {} } as never),
    await asked.apply(object),
  ];
  expect(answers).toEqual(names.map((verb) => `${verb} answered`));
});

test("what the server answers about an object comes back, and writes are heard of", async () => {
  const names = ["get", "find", "list", "create", "update", "patch", "apply", "delete"] as const;
  const verbs = Object.fromEntries(names.map((verb) => [verb, async () => `${verb} answered`]));
  const heard: unknown[] = [];
  const asked = grantedKind(
    {
      client: {
        kind: () => ({ ...verbs, each: () => "each", watch: () => "watch", reflect: () => "reflect" }),
      } as never,
      permissions: { require: () => {} } as unknown as PermissionCheck,
      ...{ check: () => {}, scope: new AbortController(), fieldManager: "test" },
      written: (object) => void heard.push(object),
    },
    Secret,
  );
  const ref = { namespace: "default", name: "a" };
  const object = { metadata: ref } as never;
  const answers = [
    await asked.get(ref),
    await asked.find(ref),
    await asked.list(),
    await asked.create(object),
    await asked.update(object),
    await asked.patch(ref, { type: "merge", body: {} } as never),
    await asked.apply(object),
    await asked.delete(ref),
  ];
  expect(answers).toEqual(names.map((verb) => `${verb} answered`));
  expect([asked.each(), asked.watch({} as never), asked.reflect({} as never)]).toEqual([
    "each",
    "watch",
    "reflect",
  ]);
  expect(heard).toEqual(["update answered", "patch answered", "apply answered"]);
});

test("nothing is asked once the reconcile is over", async () => {
  let asked = 0;
  const any = new Proxy({}, { get: () => () => void asked++ });
  const over = new Error("it is over");
  const options = {
    client: { kind: () => ({ ...any, subresource: () => any }) } as never,
    permissions: { require: () => {} } as unknown as PermissionCheck,
    check: () => {
      throw over;
    },
    ...{ scope: new AbortController(), fieldManager: "test" },
  };
  const [kind, part] = [grantedKind(options, Secret), grantedSubresource(options, Secret, "part")];
  const [ref, object] = [{ namespace: "default", name: "a" }, { metadata: {} } as never];
  const patch = { type: "merge", body: {} } as never;
  const calls = [
    () => kind.get(ref),
    () => kind.find(ref),
    () => kind.list(),
    () => kind.create(object),
    () => kind.update(object),
    () => kind.patch(ref, patch),
    () => kind.apply(object),
    () => kind.delete(ref),
    () => kind.deleteAll({ namespace: "default" }),
    () => part.get(ref),
    () => part.create(ref, object),
    () => part.update(object),
    () => part.patch(ref, patch),
    () => part.apply(object),
  ];
  for (const call of calls) await expect(call()).rejects.toBe(over);
  for (const call of [() => kind.each(), () => kind.watch({} as never), () => kind.reflect({} as never)])
    expect(call).toThrow(over);
  expect(asked).toBe(0);
});
