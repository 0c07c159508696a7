import { expect, test } from "vitest";
import { RedisError } from "./errors.ts";
import { encodeCommand, type Reply, ReplyParser } from "./resp.ts";

test("a command is an array of strings with their lengths in bytes", () => {
  expect(encodeCommand(["SET", "ü", 1]).toString()).toBe("*3\r\n$3\r\nSET\r\n$2\r\nü\r\n$1\r\n1\r\n");
});

const stream = "+OK\r\n:-3\r\n$-1\r\n$5\r\nab\r\nc\r\n*2\r\n$1\r\nx\r\n*1\r\n:7\r\n-READONLY no\r\n";

test.each([1, 2, 3, 7, 1_000])("replies are the same in pieces of %i bytes", (size) => {
  const parser = new ReplyParser();
  const bytes = Buffer.from(stream);
  const replies: Reply[] = [];
  for (let at = 0; at < bytes.length; at += size) replies.push(...parser.push(bytes.subarray(at, at + size)));
  expect(replies.slice(0, 5)).toEqual(["OK", -3, null, "ab\r\nc", ["x", [7]]]);
  expect(replies[5]).toBeInstanceOf(RedisError);
  expect((replies[5] as RedisError).code).toBe("ReadOnly");
});

test("what is no answer of Redis is an error", () => {
  expect(() => new ReplyParser().push(Buffer.from("HTTP/1.1 400\r\n"))).toThrow(/expected an answer/);
});
