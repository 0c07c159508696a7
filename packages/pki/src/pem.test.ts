import { describe, expect, test } from "vitest";
import { pem, pemBlocks, pemBytes } from "./pem.ts";

const blocks = (text: string) => [...pemBlocks(text)].map(({ label, content }) => [label, content.trim()]);

describe("PEM", () => {
  test("blocks are found among other text, with their labels", () => {
    const text = `before\n${pem("A", Buffer.from("one"))}between\n${pem("B C", Buffer.from("two"))}after`;
    expect(blocks(text)).toEqual([
      ["A", "b25l"],
      ["B C", "dHdv"],
    ]);
    expect(Buffer.from(pemBytes(text)).toString()).toBe("one");
  });

  test("what begins and never ends is passed over", () => {
    const whole = pem("A", Buffer.from("one"));
    expect(blocks("-----BEGIN A-----\n".repeat(3))).toEqual([]);
    expect(blocks(`-----BEGIN B-----\nxx\n${whole}`)).toEqual([["A", "b25l"]]);
    expect(blocks(`-----BEGIN A-----\nxx\n-----END B-----\n${whole}`)).toEqual([["A", "b25l"]]);
    expect(blocks(`-----END A-----\n${whole}`)).toEqual([["A", "b25l"]]);
    expect(blocks("-----BEGIN ")).toEqual([]);
  });

  test("a text of beginnings alone is read once, however long it is", () => {
    const many = "-----BEGIN CERTIFICATE-----\n".repeat(200_000);
    expect(blocks(many)).toEqual([]);
    expect(blocks(`${many}-----END OTHER-----\n`)).toEqual([]);
    expect(blocks("-----BEGIN A-----\n-----END B-----\n".repeat(100_000))).toEqual([]);
  });
});
