/** What the journeys share: the operator's image, secure clients, and a writer that never stops. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildImage, readProject } from "@keelson/cli";
import { EtcdGateway } from "@keelson/etcd-operator";
import { loadImages } from "@keelson/images";
import { forwardConnector } from "keelson";
import { Secret } from "keelson/kinds";
import { namespace, type Stage } from "./stage.ts";

export const say = (sentence: string) => void process.stdout.write(`${sentence}\n`);

export const operatorImage = "keelson-e2e/etcd-operator:1";

/** Builds the operator's image from the sources, and has the operator use it for its agents. */
export async function installImage(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-e2e-image-"));
  const { archive } = await buildImage(readProject("operators/etcd"), {
    image: operatorImage,
    base: "node:24",
  });
  await writeFile(join(directory, "image.tar"), archive);
  await loadImages(join(directory, "image.tar"), {});
  await rm(directory, { recursive: true });
  process.env["OPERATOR_IMAGE"] = operatorImage;
}

export interface Secure {
  readonly cluster: string;
  readonly password?: string;
}

/** Certificates as a client would have them mounted. */
export async function material(world: Stage, cluster: string) {
  const secret = await world.client.kind(Secret).get({ namespace, name: `${cluster}-client-tls` });
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString();
  return { ca: text("ca.crt"), cert: text("tls.crt"), key: text("tls.key") };
}

/** Speaks to one member for as long as `work` takes. */
export async function withMember<T>(
  world: Stage,
  { cluster, password }: Secure,
  member: string,
  work: (etcd: EtcdGateway) => Promise<T>,
): Promise<T> {
  await using link = await forwardConnector(world.client)({ pod: { namespace, name: member } }, 2379, {
    namespace,
    signal: AbortSignal.timeout(60_000),
  });
  const etcd = new EtcdGateway({
    ...link,
    tls: {
      ...(await material(world, cluster)),
      serverName: `${member}.${cluster}.${namespace}.svc`,
    },
    ...(password === undefined ? {} : { credentials: { user: "root", password } }),
  });
  return await work(etcd);
}

/** Writes numbers one after the other, by new connections, and remembers the longest silence. */
export class Writer {
  readonly #world: Stage;
  readonly #secure: Secure;
  #stopped = false;
  #done: Promise<void>;
  written = 0;
  longestGapMs = 0;
  failures = 0;
  lastError = "";

  constructor(world: Stage, secure: Secure) {
    this.#world = world;
    this.#secure = secure;
    this.#done = this.#run();
  }

  async #run(): Promise<void> {
    let last = performance.now();
    for (let turn = 0; !this.#stopped; turn++) {
      const members = (await this.#world.get(this.#secure.cluster)).status?.members ?? [];
      const voters = members.filter(({ phase, ready }) => phase === "Voter" && ready);
      const member = voters[turn % Math.max(1, voters.length)]?.name;
      try {
        if (member === undefined) throw new Error("no member serves");
        await withMember(this.#world, this.#secure, member, async (etcd) => {
          for (let i = 0; i < 20 && !this.#stopped; i++) {
            await etcd.put(`writer/${this.written}`, String(this.written), { timeoutMs: 2_000 });
            this.written++;
            this.longestGapMs = Math.max(this.longestGapMs, performance.now() - last);
            last = performance.now();
          }
        });
      } catch (error) {
        this.failures++;
        this.lastError = (error as Error).message;
        await sleep(50);
      }
    }
  }

  async stop(): Promise<string> {
    this.#stopped = true;
    await this.#done;
    return `${this.written} writes, longest gap ${Math.round(this.longestGapMs)} ms, ${this.failures} failed attempts`;
  }
}
