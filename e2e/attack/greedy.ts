/** Clients that are slow, or take more than their share. */

import type { ApiTarget } from "./api-target.ts";
import type { Attack } from "./attack.ts";

const maps = "/api/v1/namespaces/default/configmaps";

async function isHealthy(target: ApiTarget): Promise<string | undefined> {
  const { status } = await target.ask("/healthz");
  return status === 200 ? undefined : `/healthz is answered ${status}`;
}

/** Opens connections that send this and read nothing. */
async function stuck(
  target: ApiTarget,
  count: number,
  text: string,
  check: () => Promise<string | undefined>,
) {
  const sockets = await Promise.all(Array.from({ length: count }, () => target.open()));
  try {
    for (const socket of sockets) {
      socket.on("error", () => {});
      socket.pause();
      socket.write(text);
    }
    // Whatever the server makes for them it has made before it answers this.
    await target.ask("/healthz");
    return await check();
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function filled(target: ApiTarget): Promise<void> {
  for (let i = 0; i < 40; i++)
    await target.mustCreate(maps, { metadata: { name: `big-${i}` }, data: { a: "x".repeat(500_000) } });
}

const get = (target: ApiTarget, path: string, headers = "") =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${target.authorization}\r\n${headers}\r\n`;

/** Of our own process, which holds the server too. A copy for each client would be 600 MB. */
const memoryAttack = (id: string, tries: string, headers: string): Attack<ApiTarget> => ({
  id,
  tries,
  async run(target) {
    await filled(target);
    const before = process.memoryUsage().arrayBuffers;
    return stuck(target, 30, get(target, maps, headers), async () => {
      const grownMb = (process.memoryUsage().arrayBuffers - before) / 2 ** 20;
      return grownMb > 150 ? `the server holds ${grownMb.toFixed(0)} MB for them` : isHealthy(target);
    });
  },
});

export const greedyAttacks: readonly Attack<ApiTarget>[] = [
  memoryAttack("lists", "30 clients ask for a list of 20 MB and do not read it", ""),
  memoryAttack("protobuf lists", "the same in protobuf", "accept: application/vnd.kubernetes.protobuf\r\n"),
  memoryAttack("compressed lists", "the same, compressed", "accept-encoding: gzip\r\n"),
  memoryAttack(
    "upgraded lists",
    "the same, asking for an upgrade",
    "connection: upgrade\r\nupgrade: websocket\r\n",
  ),
  memoryAttack("watches", "30 clients watch and do not read", "x: y\r\n"),
  {
    id: "half requests",
    tries: "300 clients send half of a head",
    run: (target) => stuck(target, 300, "GET /api HTTP/1.1\r\nhost:", () => isHealthy(target)),
  },
  {
    id: "half bodies",
    tries: "200 clients send most of a body of 3 MB",
    run: (target) =>
      stuck(
        target,
        200,
        `POST ${maps} HTTP/1.1\r\nhost: x\r\nauthorization: ${target.authorization}\r\ncontent-type: application/json\r\ncontent-length: 3000000\r\n\r\n${" ".repeat(2_000_000)}`,
        () => isHealthy(target),
      ),
  },
  {
    id: "garbage",
    tries: "200 clients send random bytes",
    async run(target) {
      for (let i = 0; i < 200; i++) {
        const socket = await target.open();
        socket.on("error", () => {});
        socket.end(
          Buffer.from(Array.from({ length: 200 }, (_, j) => (i * 31 + j * 17 + ((i * j) % 251)) % 256)),
        );
        await new Promise((resolve) => socket.once("close", resolve).resume());
      }
      return isHealthy(target);
    },
  },
];
