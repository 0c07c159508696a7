import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ResponseParser } from "./response-parser.ts";

/** Feeds the text in pieces of these sizes, each to its own place in one buffer, as a socket's reads are. */
function parse(text: string, cuts: readonly number[] = []) {
  const bytes = Buffer.from(text);
  const parser = new ResponseParser();
  const body: Buffer[] = [];
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    const to = Math.min(bytes.length, at + cut);
    const stop = parser.read(bytes, at, to);
    body.push(Buffer.from(bytes.subarray(at, stop)));
    at = to;
  }
  return { parser, body: Buffer.concat(body).toString() };
}

const chunked = (parts: readonly string[], extension = "", trailer = "") =>
  `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-a: 1\r\nX-A: 2\r\n\r\n${parts
    .map((part) => `${Buffer.byteLength(part).toString(16)}${extension}\r\n${part}\r\n`)
    .join("")}0${extension}\r\n${trailer}\r\n`;

describe("a response", () => {
  it("has the same head and body whatever the pieces it comes in", () => {
    const part = fc.string({
      unit: fc.constantFrom("a", "\r", "\n", "0", "€", "😀"),
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(
        fc.array(part),
        fc.array(fc.nat(30)),
        fc.constantFrom("", ";x=1", " "),
        fc.constantFrom("", "checksum: 5\r\n"),
        (parts, cuts, extension, trailer) => {
          const { parser, body } = parse(chunked(parts, extension, trailer), cuts);
          expect(body).toBe(parts.join(""));
          expect(parser.done).toBe(true);
          const { status, headers, lasts } = parser.head ?? {};
          expect({ status, headers, lasts }).toEqual({
            status: 200,
            headers: { "transfer-encoding": "chunked", "x-a": ["1", "2"] },
            lasts: true,
          });
        },
      ),
    );
  });

  it("ends with its length, with its connection, or at once", () => {
    const sized = parse("HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello");
    expect([sized.parser.head?.status, sized.body, sized.parser.done]).toEqual([404, "hello", true]);
    const open = parse("HTTP/1.0 200 OK\r\n\r\nhello");
    expect([open.body, open.parser.done, open.parser.end()]).toEqual(["hello", false, true]);
    expect(parse("HTTP/1.1 204 No Content\r\n\r\n").parser.done).toBe(true);
    const head = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    const bodiless = new ResponseParser(true);
    bodiless.read(head, 0, head.length);
    expect(bodiless.done).toBe(true);
  });

  it("tells whether its connection may carry another", () => {
    const lasts = (head: string) => parse(`${head}\r\ncontent-length: 0\r\n\r\n`).parser.head?.lasts;
    expect(lasts("HTTP/1.1 200 OK")).toBe(true);
    expect(lasts("HTTP/1.1 200 OK\r\nConnection: keep-alive")).toBe(true);
    expect(lasts("HTTP/1.1 200 OK\r\nconnection: Close")).toBe(false);
    expect(lasts("HTTP/1.0 200 OK")).toBe(false);
  });

  it("is not complete when its connection ends within it", () => {
    for (const text of [
      "HTTP/1.1 200 OK\r\ncontent-le",
      "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello",
      chunked(["hello"]).slice(0, -3),
    ]) {
      expect(parse(text).parser.end()).toBe(false);
    }
  });

  it("may be preceded by interim ones", () => {
    const { parser, body } = parse(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
      [3, 20],
    );
    expect([parser.head?.status, body]).toEqual([200, "hi"]);
  });

  it.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "no HTTP/1.1"],
    ["a size that is none", `${chunked([]).slice(0, -5)}zz\r\n`, "size is no number"],
    [
      "a chunk longer than it said",
      chunked(["hello"]).replace("\r\n5\r\n", "\r\n4\r\n"),
      "longer than it said",
    ],
    ["a size without end", `${chunked([]).slice(0, -5)}1111111111111111`, "too large"],
    ["another encoding", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", "encoded as gzip"],
    ["a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "no true length"],
    ["more than one answer", `${chunked([])}HTTP/1.1 200 OK\r\n\r\n`, "more than one answer"],
  ])("is refused with %s", (_what, text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
});
