import { expect, test } from "vitest";
import { diagnose, failureMessage } from "./termination-message.ts";

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

test.each([
  '{"level":"fatal","msg":"invalid downgrade; server version is lower than determined cluster version","current-server-version":"3.5.16","determined-cluster-version":"3.6"}',
  "go.etcd.io/etcd/server/v3/etcdserver/version.MustDetectDowngrade(0x1, 0x2, 0x3)\n\tdowngrade.go:49 +0x1a5\n",
  '{"level":"fatal","msg":"discovery failed","error":"version \\"3.7.0\\" is not supported"}',
])("data of a newer minor is told from data that is corrupt", (words) => {
  expect(diagnose(words)).toBe("newer");
});
