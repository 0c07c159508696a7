import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameReader, frame, longestDatagram } from "./datagram-frames.ts";

const chunked = (bytes: Buffer, sizes: readonly number[]) => {
  const chunks: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
};

test("datagrams come out as they went in, however the stream is cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 }),
      (datagrams, sizes) => {
        const reader = new FrameReader();
        const stream = Buffer.concat(datagrams.map(frame));
        const out = chunked(stream, sizes).flatMap((chunk) => [...reader.read(chunk)].map((one) => [...one]));
        expect(out).toEqual(datagrams.map((one) => [...one]));
      },
    ),
  );
});

test("the longest datagram fits", () => {
  const [out] = new FrameReader().read(frame(Buffer.alloc(longestDatagram, 7)));
  expect(out?.length).toBe(longestDatagram);
});
