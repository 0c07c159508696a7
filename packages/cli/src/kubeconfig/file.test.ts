import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addContext, checkKubeconfig, removeContext } from "./file.ts";

let work: string;
let own: string;
let file: string;
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), "keelson-kubeconfig-"));
  own = join(work, "own");
  file = join(work, "config");
  writeFileSync(
    own,
    JSON.stringify({
      clusters: [{ name: "keelson", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "admin", user: { token: "t" } }],
      contexts: [{ name: "keelson", context: { cluster: "keelson", user: "admin" } }],
    }),
  );
});
afterEach(() => rmSync(work, { recursive: true }));

const theirs = `# mine
apiVersion: v1
kind: Config
clusters:
  - name: prod # do not touch
    cluster:
      server: https://prod.example.com
users:
  - name: me
    user:
      token: secret
contexts:
  - name: prod
    context:
      cluster: prod
      user: me
current-context: prod
`;

test("a context is added to a file that does not exist, readable by its owner only", () => {
  addContext(join(work, "new/config"), "default", own);
  const text = readFileSync(join(work, "new/config"), "utf8");
  expect(text).toContain("current-context: keelson-default");
  expect(text).toContain("server: https://127.0.0.1:1");
  expect(statSync(join(work, "new/config")).mode & 0o777).toBe(0o600);
});

test("a context is added beside others and taken out again, and the rest of the file stays", () => {
  writeFileSync(file, theirs, { mode: 0o640 });
  chmodSync(file, 0o640);
  addContext(file, "default", own);
  addContext(file, "default", own);
  const text = readFileSync(file, "utf8");
  expect(text.match(/name: keelson-default/g)).toHaveLength(3);
  expect(text).toContain("prod # do not touch");
  expect(statSync(file).mode & 0o777).toBe(0o640);
  removeContext(file, "default");
  expect(readFileSync(file, "utf8")).toBe(theirs.replace("current-context: prod", 'current-context: ""'));
});

test("a current context that is another's stays", () => {
  writeFileSync(file, theirs);
  addContext(file, "default", own);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace("current-context: keelson-default", "current-context: prod"),
  );
  removeContext(file, "default");
  expect(readFileSync(file, "utf8")).toBe(theirs);
});

test("a link stays a link", () => {
  writeFileSync(join(work, "real"), theirs);
  symlinkSync(join(work, "real"), file);
  addContext(file, "default", own);
  expect(readFileSync(join(work, "real"), "utf8")).toContain("keelson-default");
  expect(existsSync(`${file}.new`)).toBe(false);
});

test("a file that another program changes is left alone", () => {
  writeFileSync(`${file}.lock`, "");
  expect(() => addContext(file, "default", own)).toThrow(
    /cannot be changed: another program changes it; .*config\.lock/,
  );
  expect(existsSync(file)).toBe(false);
});

test.each([
  ["a: [", /is not YAML/],
  ["- a", /is no kubeconfig/],
  ["clusters: 3", /is no kubeconfig/],
])("%j is refused in words", (text, sentence) => {
  writeFileSync(file, text);
  expect(() => checkKubeconfig(file)).toThrow(sentence);
  expect(() => addContext(file, "default", own)).toThrow(sentence);
  expect(readFileSync(file, "utf8")).toBe(text);
});
