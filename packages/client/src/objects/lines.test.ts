import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter } from "./lines.ts";

function split(chunks: Uint8Array[]): { lines: string[]; rest: number } {
  const splitter = new LineSplitter();
  const lines: string[] = [];
  for (const chunk of chunks) {
    splitter.push(chunk);
    for (let line = splitter.take(); line !== undefined; line = splitter.take())
      lines.push(line.toString("utf8"));
  }
  return { lines, rest: splitter.rest };
}

describe("line splitter", () => {
  it("gives the same lines whatever the chunks, even when they cut a character", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "ü", "€", "😀", "\n", "\n") });
    fc.assert(
      fc.property(text, fc.array(fc.nat(50)), (value, cuts) => {
        const bytes = Buffer.from(value);
        const chunks: Uint8Array[] = [];
        let at = 0;
        for (const cut of cuts) {
          chunks.push(bytes.subarray(at, at + cut));
          at += cut;
        }
        chunks.push(bytes.subarray(at));
        const parts = value.split("\n");
        const last = parts.pop() ?? "";
        expect(split(chunks)).toEqual({ lines: parts, rest: Buffer.byteLength(last) });
      }),
    );
  });

  it("puts a line of many chunks together", () => {
    const chunks = Array.from({ length: 1000 }, () => Buffer.alloc(1000, 97));
    const { lines, rest } = split([...chunks, Buffer.from("\nb")]);
    expect(lines[0]?.length).toBe(1_000_000);
    expect(rest).toBe(1);
  });

  it("refuses a line that would never end", () => {
    const splitter = new LineSplitter(10);
    splitter.push(Buffer.from("0123456789"));
    expect(splitter.take()).toBeUndefined();
    splitter.push(Buffer.from("0"));
    expect(() => splitter.take()).toThrow("a line is longer than 10 bytes");
  });
});
