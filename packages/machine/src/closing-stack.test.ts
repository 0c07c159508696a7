import { expect, test } from "vitest";
import { ClosingStack } from "./closing-stack.ts";

test("closes in reverse order, everything, once, and throws the first failure", async () => {
  const closed: string[] = [];
  const stack = new ClosingStack();
  stack.defer(() => closed.push("first"));
  stack.defer(() => {
    throw new Error("stuck");
  });
  stack.use({ [Symbol.asyncDispose]: async () => void closed.push("last") });
  await expect(stack[Symbol.asyncDispose]()).rejects.toThrow("stuck");
  await stack[Symbol.asyncDispose]();
  expect(closed).toEqual(["last", "first"]);
});
