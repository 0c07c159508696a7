import { expect, test } from "vitest";
import { explainSystemError } from "./system-error.ts";

const error = (fields: object) => Object.assign(new Error("raw"), fields);

test.each([
  [{ code: "EACCES", syscall: "listen", port: 80, address: "127.0.0.1" }, /only root may listen on port 80/],
  [{ code: "ENOSPC", syscall: "write" }, /no room left on the disk; make room/],
  [{ code: "EROFS", syscall: "mkdir", path: "/x/y" }, /^\/x\/y cannot be written; set KEELSON_STATE/],
])("an error of the machine becomes a sentence: %o", (fields, sentence) => {
  expect(explainSystemError(error(fields))).toMatch(sentence);
});

test("an error that no person can fix from outside stays what it is", () => {
  expect(explainSystemError(error({ code: "EINVAL" }))).toBeUndefined();
  expect(explainSystemError("text")).toBeUndefined();
});
