import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type HostileEntry, hostileTar, pax } from "../test/hostile-tar.ts";
import { ImageError } from "./errors.ts";
import { readTar, type TarEntry } from "./tar-read.ts";
import { type TarFile, writeTar } from "./tar-write.ts";

/** In pieces of this size. */
async function* pieces(bytes: Uint8Array, size = 4096): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(
  bytes: Uint8Array,
  size?: number,
): Promise<(Omit<TarEntry, "body"> & { content: string })[]> {
  const all = [];
  for await (const { body, ...entry } of readTar(pieces(bytes, size))) {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    all.push({ ...entry, content: Buffer.concat(chunks).toString("latin1") });
  }
  return all;
}

const name = fc.stringMatching(/^[a-z0-9 _-]{1,60}$/);
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join("/"));
const file = fc.record({
  path,
  type: fc.constant("file" as const),
  mode: fc.nat(0o777),
  content: fc.uint8Array(),
});
const link = fc.record({
  ...{ path, type: fc.constant("symlink" as const), mode: fc.constant(0o777) },
  target: fc.string({ minLength: 1, maxLength: 200 }).filter((text) => !text.includes("\0")),
});

describe("archives that we write", () => {
  test("are read as they were written, in pieces of any size", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(file, link)),
        fc.integer({ min: 1, max: 2000 }),
        async (files, size) => {
          const entries = await read(writeTar(files as TarFile[]), size);
          const expected = (files as TarFile[]).map((each) => ({
            path: each.path,
            type: each.type,
            mode: each.mode,
            linkPath: each.target ?? "",
            content: Buffer.from(each.content ?? []).toString("latin1"),
          }));
          expect(entries).toMatchObject(expected);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("are read by the machine's tar", () => {
    const home = mkdtempSync(join(tmpdir(), "kt-"));
    try {
      const long = `${"deep/".repeat(40)}file`;
      const entries: TarFile[] = [
        { path: "d", type: "directory", mode: 0o755 },
        { path: long, type: "file", mode: 0o600, content: Buffer.from("far") },
        { path: "d/link", type: "symlink", mode: 0o777, target: `../${long}` },
        { path: "ü", type: "file", mode: 0o644, content: Buffer.from("umlaut") },
      ];
      execFileSync("tar", ["-C", home, "-xf", "-"], { input: writeTar(entries) });
      expect(readFileSync(join(home, "d/link"), "utf8")).toBe("far");
      expect(readFileSync(join(home, "ü"), "utf8")).toBe("umlaut");
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

describe("archives of others", () => {
  test.each(["gnu", "pax", "ustar"])("in the format %s are read whole", async (format) => {
    const home = mkdtempSync(join(tmpdir(), "kt-"));
    try {
      const deep = `${"d".repeat(50)}/${"e".repeat(format === "ustar" ? 30 : 120)}`;
      mkdirSync(join(home, deep), { recursive: true });
      writeFileSync(join(home, deep, "file"), "content");
      symlinkSync("/somewhere", join(home, "link"));
      execFileSync("ln", [join(home, deep, "file"), join(home, "twin")]);
      const bytes = execFileSync("tar", ["-C", home, `--format=${format}`, "--sort=name", "-cf", "-", "."]);
      const entries = await read(bytes);
      expect(entries.map((entry) => entry.path)).toEqual([
        "",
        "d".repeat(50),
        deep,
        `${deep}/file`,
        "link",
        "twin",
      ]);
      expect(entries[3]).toMatchObject({ type: "file", size: 7, content: "content" });
      expect(entries[4]).toMatchObject({ type: "symlink", linkPath: "/somewhere" });
      expect(entries[5]).toMatchObject({ type: "hardlink", linkPath: `./${deep}/file` });
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  test("may have something behind their end, which is read too", async () => {
    let bytes = 0;
    const counted = async function* () {
      for await (const piece of pieces(Buffer.concat([hostileTar([{}]), Buffer.alloc(50_000, 1)]))) {
        bytes += piece.length;
        yield piece;
      }
    };
    for await (const _ of readTar(counted()));
    expect(bytes).toBe(512 + 1024 + 50_000);
  });
});

describe("hostile archives", () => {
  const above = Buffer.from([0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
  const negative = Buffer.alloc(12, 0xff);
  test.each<[string, HostileEntry[], string]>([
    ["a path that climbs out", [{ path: "a/../../b" }], 'entry "a/../../b" leaves the archive\'s root'],
    ["a directory that is the root's parent", [{ path: "..", flag: "5" }], 'entry ".." leaves'],
    [
      "a link in place of the root's parent",
      [{ path: "./..", flag: "2", link: "/" }],
      "leaves the archive's root",
    ],
    ["a climbing path in an extended header", [pax({ path: "x/../../y" }), {}], 'entry "x/../../y" leaves'],
    ["a NUL in a path", [pax({ path: "a\0b" }), {}], "NUL character"],
    ["a path without end", [pax({ path: "a/".repeat(3000) }), {}], "is too long"],
    ["a name without end", [pax({ path: "a".repeat(300) }), {}], "is too long"],
    ["a size in words", [pax({ size: "abc" }), {}], 'entry "file" has an invalid size'],
    ["a size below zero", [pax({ size: "-1" }), {}], "invalid size"],
    ["a size beyond numbers", [pax({ size: "99999999999999999" }), {}], "invalid size"],
    ["a fractional size", [pax({ size: "1.5" }), {}], "invalid size"],
    ["a size that is no number", [{ size: "zzz" }], "invalid size"],
    ["a binary size beyond numbers", [{ size: above }], "invalid size"],
    ["a binary size below zero", [{ size: negative }], "invalid size"],
    ["a size beyond the archive", [{ size: "77777777777" }], "ends in the middle"],
    ["an owner beyond numbers", [pax({ uid: "4294967295" }), {}], "invalid uid"],
    ["a time in words", [pax({ mtime: "now" }), {}], "invalid mtime"],
    ["an extended header that lies about its length", [pax("99 path=a\n"), {}], "malformed extended header"],
    ["an extended header of nothing", [pax("0 path=a\n"), {}], "malformed extended header"],
    ["an extended header without a value", [pax("7 path\n"), {}], "malformed extended header"],
    ["an extended header without an end", [pax("9 path=ab"), {}], "malformed extended header"],
    ["an endless extended header", [{ path: "p", flag: "x", size: "77777777777" }], "megabyte of headers"],
    [
      "endless extended headers",
      Array.from({ length: 30 }, () => pax({ a: "x".repeat(50_000) })),
      "megabyte of headers",
    ],
    ["an endless long name", [{ path: "l", flag: "L", size: "00010000000" }], "megabyte of headers"],
    ["an unknown type", [{ flag: "S" }], 'entry "file" is of an unknown type "S"'],
    ["a wrong checksum", [{ sum: "0000000" }], "no tar archive"],
    ["a checksum in words", [{ sum: "garbage!" }], "no tar archive"],
  ])("with %s are refused by name", async (_, entries, complaint) => {
    const reading = read(hostileTar(entries));
    await expect(reading).rejects.toMatchObject({ code: "BadArchive" });
    await expect(reading).rejects.toThrow(complaint);
  });

  test("an extended header for all that follows changes nothing", async () => {
    const entries = await read(
      hostileTar([{ ...pax({ path: "../evil", size: "9" }), flag: "g" }, { content: "abc" }]),
    );
    expect(entries).toMatchObject([{ path: "file", content: "abc" }]);
  });

  test("a link has no body, whatever its size says", async () => {
    const entries = await read(hostileTar([{ flag: "2", link: "x", size: "00000001000" }, { path: "next" }]));
    expect(entries.map((entry) => entry.path)).toEqual(["file", "next"]);
  });

  test("cut or changed anywhere, they end in words or in entries, never otherwise", async () => {
    const bytes = hostileTar([
      pax({ path: "long/path" }),
      { content: "abc" },
      { flag: "2", link: "t" },
      { flag: "5" },
    ]);
    const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 4 }), fc.nat(bytes.length), async (changes, length) => {
        const copy = Buffer.from(bytes.subarray(0, length));
        for (const [at, value] of changes) if (at < length) copy[at] = value;
        try {
          await read(copy);
        } catch (error) {
          expect(error).toBeInstanceOf(ImageError);
        }
      }),
      { numRuns: 500 },
    );
  });
});
