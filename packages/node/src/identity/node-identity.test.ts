import { X509Certificate } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiError, type Client, type Credentials } from "@keelson/client";
import { certify, createAuthority, readCertificateRequest } from "@keelson/pki";
import { SeededRandom, VirtualClock } from "@keelson/testing/clock";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NodeIdentity } from "./node-identity.ts";

const dayMs = 24 * 3_600_000;
const yearMs = 365 * dayMs;

/** A control plane that signs what nodes ask for, and notes who asked. */
class Plane {
  readonly clock = new VirtualClock();
  readonly asked: { name: string; by: string }[] = [];
  readonly conditions: { type: string; reason: string }[] = [];
  /** Set to sign for another subject than the one asked for. */
  subject: string | undefined;
  authority = createAuthority("ca", this.clock.now(), this.clock.now() + 10 * yearMs);
  /** Certificates of another authority are nobody's. */
  isKnown = true;
  lifeMs = yearMs;
  lagMs = 0;
  /** What signing waits for. */
  gate: Promise<void> = Promise.resolve();

  client(by: () => Promise<string>): Client {
    const plane = this;
    const requests = {
      async create({ metadata, spec }: { metadata: { name: string }; spec: { request: string } }) {
        const exists = plane.#requests.has(metadata.name);
        plane.asked.push({ name: metadata.name, by: await by() });
        if (exists) throw apiError(409, "AlreadyExists");
        plane.#requests.set(metadata.name, Buffer.from(spec.request, "base64").toString());
      },
      async *reflect({ fields, signal }: { fields: string; signal: AbortSignal }) {
        const name = fields.replace("metadata.name=", "");
        const aborted = new Promise<void>((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
        yield { type: "restart", reason: "start" };
        yield { type: "item", object: { metadata: { name }, spec: {} } };
        await Promise.race([plane.gate, aborted]);
        yield { type: "modified", object: { metadata: { name }, status: plane.#grant(name) } };
      },
    };
    const nodes = {
      find: async () => {
        if (!plane.isKnown) throw apiError(401, "Unauthorized");
      },
    };
    const kinds: Record<string, unknown> = { CertificateSigningRequest: requests, Node: nodes };
    return { kind: ({ kind }: { kind: string }) => kinds[kind], close: async () => {} } as never;
  }

  #requests = new Map<string, string>();

  #grant(name: string) {
    if (this.conditions.length > 0) return { conditions: this.conditions };
    const { subject, publicKey } = readCertificateRequest(this.#requests.get(name) ?? "");
    const certificate = certify(this.authority, publicKey, {
      subject: { ...subject, ...(this.subject && { commonName: this.subject }) },
      usages: ["client"],
      notBeforeMs: this.clock.now() - this.lagMs,
      notAfterMs: this.clock.now() - this.lagMs + this.lifeMs,
    });
    return { conditions: [{ type: "Approved" }], certificate: Buffer.from(certificate).toString("base64") };
  }
}

function apiError(status: number, reason: string): ApiError {
  return new ApiError({ code: status, reason, message: reason } as never, { doing: "ask" } as never);
}

describe("a node's identity", () => {
  let directory: string;
  let plane: Plane;
  const logged: string[] = [];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "kn-id-"));
    plane = new Plane();
    logged.length = 0;
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const userOf = async (credentials: Credentials) => {
    const { certificate } = await credentials.current();
    return certificate === undefined
      ? "nobody"
      : (new X509Certificate(certificate).subject.split("CN=")[1] ?? "");
  };
  const open = () =>
    NodeIdentity.open({
      nodeName: "n",
      directory: join(directory, "pki"),
      join: async () => plane.client(async () => "joiner"),
      connect: async (credentials) => plane.client(() => userOf(credentials)),
      clock: plane.clock,
      random: new SeededRandom(1),
      log: (line) => void logged.push(line),
    });
  const current = () => join(directory, "pki/kubelet-client-current.pem");
  const users = () => plane.asked.map(({ by }) => by);

  test("is a certificate for system:node:NAME, in a file that only its owner can read", async () => {
    await using identity = await open();
    expect(await userOf(identity)).toBe("system:node:n");
    expect(new X509Certificate(readFileSync(current())).subject).toContain("O=system:nodes");
    expect(readFileSync(current(), "utf8")).toContain("PRIVATE KEY");
    expect(statSync(current()).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, "pki")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(directory, "pki"))).toEqual(["kubelet-client-current.pem"]);
  });

  test("is kept over restarts", async () => {
    await (await open())[Symbol.asyncDispose]();
    await (await open())[Symbol.asyncDispose]();
    expect(users()).toEqual(["joiner"]);
  });

  test("is asked for again when it is over, not the node's, damaged, or unknown to the control plane", async () => {
    const again = async () => await (await open())[Symbol.asyncDispose]();
    await again();
    await plane.clock.advance(yearMs + 1);
    await again();
    writeFileSync(current(), "nothing");
    await again();
    plane.isKnown = false;
    await again();
    expect(users()).toEqual(["joiner", "joiner", "joiner", "joiner"]);
  });

  test("is asked for with a new key where a power cut emptied the file of the last one", async () => {
    mkdirSync(join(directory, "pki"));
    writeFileSync(join(directory, "pki/kubelet-client.key.tmp"), "");
    await using identity = await open();
    expect(await userOf(identity)).toBe("system:node:n");
  });

  test("is asked for with the same key by a node that starts again before it is granted", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    plane.gate = promise;
    const first = open();
    first.catch(() => undefined);
    await plane.clock.settle();
    expect(statSync(join(directory, "pki/kubelet-client.key.tmp")).mode & 0o777).toBe(0o600);
    const second = open();
    await plane.clock.settle();
    resolve();
    for (const identity of await Promise.all([first, second])) await identity[Symbol.asyncDispose]();
    const [one, two] = plane.asked;
    expect(one?.name).toBe(two?.name);
  });

  test("tells a person who has to approve it, and is given up after a quarter of an hour", async () => {
    plane.gate = new Promise(() => undefined);
    const opening = open().catch((error: Error) => error.message);
    await plane.clock.settle();
    await plane.clock.advance(6_000);
    expect(logged.join()).toContain(`kubectl certificate approve ${plane.asked[0]?.name}`);
    await plane.clock.advance(15 * 60_000);
    expect(await opening).toContain("nobody granted it in a quarter of an hour");
  });

  test("is refused in words", async () => {
    plane.conditions.push({ type: "Denied", reason: "Strange" });
    await expect(open()).rejects.toThrow(/node-csr-.* is not granted: Denied: Strange/);
    expect(existsSync(join(directory, "pki/kubelet-client.key.tmp"))).toBe(false);
  });

  test("of somebody else is not taken", async () => {
    plane.subject = "system:node:other";
    await expect(open()).rejects.toThrow("granted for another user");
    expect(existsSync(current())).toBe(false);
  });

  test("is renewed by the node itself between 70 and 90 percent of its time, and again", async () => {
    await using identity = await open();
    const shown = async () => (await identity.current()).certificate;
    const first = await shown();
    await plane.clock.advance(0.7 * yearMs - dayMs);
    expect(await shown()).toBe(first);
    await plane.clock.advance(0.2 * yearMs + dayMs);
    const second = await shown();
    expect(second).not.toBe(first);
    expect(readFileSync(current(), "utf8")).toContain(second?.trim());
    await plane.clock.advance(0.9 * yearMs);
    expect(await shown()).not.toBe(second);
    expect(users()).toEqual(["joiner", "system:node:n", "system:node:n"]);
  });

  test("from a signer whose clock is behind is renewed once a minute at most", async () => {
    await using _ = await open();
    plane.lagMs = 2 * yearMs;
    expect(await plane.clock.until(() => users().length > 1, yearMs)).toBe(true);
    await plane.clock.advance(10 * 60_000);
    expect(users().length).toBeLessThanOrEqual(12);
  });

  test("that cannot be renewed is tried again, and asked for as at first once it is over", async () => {
    plane.lifeMs = 3_600_000;
    await using identity = await open();
    plane.conditions.push({ type: "Failed", reason: "SigningFailed" });
    await plane.clock.advance(2 * plane.lifeMs);
    expect(new Set(users().slice(1, -1))).toContain("system:node:n");
    expect(users().at(-1)).toBe("joiner");
    plane.conditions.length = 0;
    await plane.clock.advance(3_600_000);
    expect(await userOf(identity)).toBe("system:node:n");
    expect(logged.at(-1)).toBe("node n has a new certificate");
  });
});
