import fc from "fast-check";
import { expect, test } from "vitest";
import { grpcFrame, grpcMessages } from "./grpc-frame.ts";

async function* chunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test("messages come out of frames as they went in, however the bytes arrive", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40 })),
      fc.integer({ min: 1, max: 60 }),
      async (sent, size) => {
        const received: Uint8Array[] = [];
        for await (const message of grpcMessages(chunks(Buffer.concat(sent.map(grpcFrame)), size)))
          received.push(new Uint8Array(message));
        expect(received).toEqual(sent.map((message) => new Uint8Array(message)));
      },
    ),
  );
});

test("a stream that ends within a message is an error", async () => {
  const cut = grpcFrame(Buffer.from("hello")).subarray(0, 7);
  await expect(Array.fromAsync(grpcMessages(chunks(cut, 3)))).rejects.toThrow("in the middle of a message");
});
