/** What every command under `npm run` has in common: its help, and its answer to what it does not understand. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readArguments, UsageError, usageOf } from "./command-line.ts";
import { root } from "./run.ts";

const definition = {
  command: "npm run explore",
  does: "Plays scenarios.",
  options: {
    operator: { text: "NAME", default: "etcd", help: "the operator" },
    server: { text: "NAME", oneOf: ["embedded", "reference"], help: "where" },
    runs: { number: "N", help: "scenarios" },
    seed: { number: "S", default: 1, help: "the first seed" },
    real: { help: "on real processes" },
  },
} as const;

const refusalOf = (...args: string[]) => {
  try {
    readArguments(definition, args);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return undefined;
};

test("options have their values, their defaults, or none", () => {
  expect(readArguments(definition, ["--runs", "2.5", "--real", "--server=reference"])).toEqual({
    operator: "etcd",
    server: "reference",
    runs: 2.5,
    seed: 1,
    real: true,
    words: [],
  });
  expect(readArguments({ ...definition, words: "[NAME]" }, ["a", "--", "--b"]).words).toEqual(["a", "--b"]);
});

test("what is not understood is answered with one sentence", () => {
  expect(refusalOf("--rns", "1")).toBe("npm run explore has no option --rns");
  expect(refusalOf("-r")).toBe("npm run explore has no option -r");
  expect(refusalOf("etcd")).toBe('npm run explore takes no "etcd"');
  expect(refusalOf("--runs")).toBe("--runs needs a value");
  expect(refusalOf("--runs", "--real")).toBe("--runs needs a value");
  expect(refusalOf("--runs", "many")).toBe('--runs must be a number, not "many"');
  expect(refusalOf("--real=yes")).toBe("--real takes no value");
  expect(refusalOf("--server", "kind")).toBe('--server must be one of embedded, reference, not "kind"');
});

test("an option that is required is asked for", () => {
  const suite = { text: "DIR", required: true, help: "a checkout" } as const;
  const asked = { ...definition, options: { suite } };
  expect(() => readArguments(asked, [])).toThrow("npm run explore needs --suite DIR");
  expect(usageOf(asked)).toMatch(/^npm run explore -- --suite DIR \[options\]\n/);
});

test("the help lists every option", () => {
  expect(usageOf(definition)).toBe(`npm run explore -- [options]

Plays scenarios.

  --operator NAME  the operator (default: etcd)
  --server NAME    where: embedded, reference
  --runs N         scenarios
  --seed S         the first seed (default: 1)
  --real           on real processes
  --help           print this`);
});

test("the help fits the terminal", () => {
  const options = { file: { text: "FILE", help: "a word and another word and one more word than fits" } };
  expect(usageOf({ command: "npm run x", does: "A sentence.", options }, 52)).toBe(`npm run x -- [options]

A sentence.

  --file FILE  a word and another word and one more
               word than fits
  --help       print this`);
});

test("a process ends with 2 when it is not understood, and with 0 after its help", () => {
  const pack = (option: string) =>
    spawnSync(process.execPath, ["--conditions=keelson-source", "scripts/pack.ts", option], {
      cwd: root,
      encoding: "utf8",
    });
  const refused = pack("--nonsense");
  expect(refused.status).toBe(2);
  expect(refused.stderr).toMatch(/^npm run pack has no option --nonsense\n\nnpm run pack -- FOLDER/);
  const helped = pack("--help");
  expect(helped.status).toBe(0);
  expect(helped.stdout).toMatch(/^npm run pack -- FOLDER/);
});

test("every command of package.json that is ours reads its command line here", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  /** The command has a table of its own, and vitest answers for its options itself. */
  const others = ["packages/keelson/bin/keelson.js", "scripts/test.ts"];
  const programs = Object.values(scripts)
    .flatMap((line) => /node (?:--\S+ )*(\S+)/.exec(line)?.[1] ?? [])
    .filter((file) => !others.includes(file))
    .map((file) => file.replace("control-plane.ts", "control-plane-command.ts"));
  expect(programs.length).toBeGreaterThan(30);
  const unread = programs.filter((file) => !readFileSync(join(root, file), "utf8").includes("commandLine("));
  expect(unread).toEqual([]);
});
