import { VirtualClock } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import { Scope, Stragglers, withDeadline } from "./deadline.ts";

test("work that goes on after its deadline is a straggler until it has ended", async () => {
  const clock = new VirtualClock();
  const stragglers = new Stragglers();
  const work = Promise.withResolvers<void>();
  const options = {
    ...{ clock, timeoutMs: 1_000, signal: new AbortController().signal, stragglers },
    expired: () => new Error("too long"),
  };
  const ended = expect(withDeadline(options, async () => await work.promise)).rejects.toThrow("too long");
  expect(stragglers.size).toBe(0);
  await clock.advance(1_000);
  await ended;
  expect(stragglers.size).toBe(1);
  work.resolve();
  await stragglers.ended();
  expect(stragglers.size).toBe(0);
});

describe("work with a deadline", () => {
  const setup = () => {
    const [clock, stragglers, outer] = [new VirtualClock(), new Stragglers(), new AbortController()];
    const expired = () => new Error("too long");
    return {
      clock,
      stragglers,
      outer,
      options: { clock, timeoutMs: 1_000, signal: outer.signal, expired, stragglers },
    };
  };

  test("gives its answer or its error, and is no straggler", async () => {
    const { clock, stragglers, options } = setup();
    let scope: Scope | undefined;
    const answer = await withDeadline(options, async (given) => {
      scope = given;
      return 7;
    });
    expect(answer).toBe(7);
    await expect(
      withDeadline(options, async () => {
        throw new Error("it failed");
      }),
    ).rejects.toThrow("it failed");
    await clock.advance(5_000);
    expect([scope?.aborted, stragglers.size]).toEqual([false, 0]);
  });

  test("is told when its time is up, with the reason", async () => {
    const { clock, options } = setup();
    const scopes: Scope[] = [];
    const ended = expect(
      withDeadline(options, (scope) => {
        scopes.push(scope);
        return new Promise(() => {});
      }),
    ).rejects.toThrow("too long");
    const [scope] = scopes;
    await clock.advance(999);
    expect([scope?.aborted, scope?.reason]).toEqual([false, undefined]);
    await clock.advance(1);
    await ended;
    expect(scope).toMatchObject({ aborted: true, reason: new Error("too long") });
    expect(scope?.signal.aborted).toBe(true);
  });

  test("ends with what it belongs to, all of it, and is not told afterwards", async () => {
    const { clock, outer, options } = setup();
    const scopes: Scope[] = [];
    const wait = () =>
      withDeadline(options, (scope) => {
        scopes.push(scope);
        return scope.signal.aborted ? Promise.resolve() : new Promise(() => {});
      });
    const both = [wait(), wait()].map((each) => expect(each).rejects.toThrow("the operator stops"));
    let done: Scope | undefined;
    await withDeadline(options, async (scope) => {
      done = scope;
    });
    outer.abort(new Error("the operator stops"));
    await Promise.all(both);
    expect(scopes.map(({ aborted, signal }) => [aborted, signal.aborted])).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(done?.aborted).toBe(false);
    await clock.advance(5_000);
    expect(scopes[0]?.reason).toEqual(new Error("the operator stops"));
  });

  test("does not begin when what it belongs to has ended", async () => {
    const { outer, options } = setup();
    outer.abort(new Error("the operator stops"));
    let began = false;
    const work = async () => {
      began = true;
    };
    await expect(withDeadline(options, work)).rejects.toThrow("the operator stops");
    expect(began).toBe(false);
  });
});

describe("a scope", () => {
  test("has one signal, which is aborted with it, before or after it is asked for", () => {
    const early = new Scope();
    const { signal } = early;
    expect(early.signal).toBe(signal);
    expect(signal.aborted).toBe(false);
    early.abort("over");
    expect([signal.aborted, signal.reason]).toEqual([true, "over"]);
    const late = new Scope();
    late.abort("over");
    expect([late.signal.aborted, late.signal.reason]).toEqual([true, "over"]);
  });

  test("ends once: the first reason counts", () => {
    const scope = new Scope();
    const { signal } = scope;
    scope.abort("first");
    scope.abort("second");
    expect([scope.aborted, scope.reason, signal.reason]).toEqual([true, "first", "first"]);
  });
});

test("stragglers have ended when the last one has, whether it failed or not", async () => {
  const stragglers = new Stragglers();
  await stragglers.ended();
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  stragglers.add(one.promise);
  stragglers.add(two.promise);
  let ended = false;
  const all = stragglers.ended().then(() => {
    ended = true;
  });
  one.reject(new Error("it failed"));
  await Promise.allSettled([one.promise]);
  await Promise.resolve();
  expect([stragglers.size, ended]).toEqual([1, false]);
  two.resolve();
  await all;
  expect([stragglers.size, ended]).toEqual([0, true]);
});
