import { expect, test } from "vitest";
import { payload } from "./dump.ts";
import { readHeader } from "./rdb.ts";

const content = Buffer.from(`REDIS0010${"x".repeat(5_000)}`);
const mark = Buffer.from("m".repeat(40));

async function* pieces(bytes: Buffer, size: number): AsyncIterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, size: number): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of payload(pieces(bytes, size))) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString();
}

test.each([1, 13, 40, 41, 100_000])(
  "a dump that ends with a mark comes without it, in pieces of %i bytes",
  async (size) => {
    const bytes = Buffer.concat([Buffer.from(`\n\n$EOF:${mark}\r\n`), content, mark]);
    expect(await read(bytes, size)).toBe(content.toString());
  },
);

test.each([1, 13, 100_000])("a dump of known length ends there, in pieces of %i bytes", async (size) => {
  const bytes = Buffer.concat([Buffer.from(`\n$${content.length}\r\n`), content]);
  expect(await read(bytes, size)).toBe(content.toString());
});

test("a dump that is cut off is an error", async () => {
  await expect(read(Buffer.concat([Buffer.from(`$EOF:${mark}\r\n`), content]), 100)).rejects.toThrow(
    /before it had sent all/,
  );
  await expect(read(Buffer.from(`$${content.length}\r\nREDIS`), 100)).rejects.toThrow(
    /before it had sent all/,
  );
  await expect(read(Buffer.from("-NOPERM no\r\n"), 100)).rejects.toThrow(/NOPERM/);
});

test("the header says which server wrote it, and where it was", () => {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const field = (name: string, value: Buffer) => Buffer.concat([Buffer.from([0xfa]), text(name), value]);
  const header = Buffer.concat([
    Buffer.from("REDIS0010"),
    field("redis-ver", text("7.0.15")),
    field("redis-bits", Buffer.from([0xc0, 64])),
    field("repl-id", text("a".repeat(40))),
    field("repl-offset", Buffer.from([0xc2, 1, 2, 3, 0])),
    Buffer.from([0xfe, 0]),
  ]);
  expect(readHeader(header)).toEqual({
    format: 10,
    redisVersion: "7.0.15",
    replicationId: "a".repeat(40),
    offset: "197121",
  });
  expect(() => readHeader(Buffer.from("not a dump"))).toThrow(/no dump/);
  expect(() => readHeader(header.subarray(0, 30))).toThrow(/cannot be read/);
});
