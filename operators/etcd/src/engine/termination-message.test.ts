import { expect, test } from "vitest";
import { failureMessage } from "./termination-message.ts";

test.each([
  [
    '{"level":"info","msg":"closing"}\n{"level":"fatal","ts":"x","msg":"discovery failed","error":"no \\"peer\\" answers","stacktrace":"s"}\n',
    'discovery failed: no \\"peer\\" answers',
  ],
  ["goroutine 1\npanic: failed to open database\n\ngoroutine 1 [running]:\n", "failed to open database"],
  ["error verifying flags, unknown flag: --x.\n", "error verifying flags, unknown flag: --x."],
  ["etcdserver.v2ToV3Request(_, _)\n\tapply_v2.go:31 +0x252\n", undefined],
])("the reason why etcd exited is found in its termination message", (words, sentence) => {
  expect(failureMessage(words)).toBe(sentence);
});
