/** A simulated pod: an agent's process, a watchdog, a PostgreSQL, and everything that can happen to them. */
import { Agent } from "../../src/agent/agent.ts";
import type { Clock, Guard, Memory, Remembered } from "../../src/agent/ports.ts";
import { type Disk, type ServerPod, SimulatedServer } from "./server.ts";
import type { World } from "./world.ts";

export class Pod implements ServerPod {
  readonly name: string;
  readonly disk: Disk = {};
  readonly server: SimulatedServer;
  readonly #world: World;
  /** Of the programs that it has. */
  major?: string;
  agent: Agent | undefined;
  uid: string;
  isFrozen = false;
  /** Only the agent hangs; PostgreSQL and the watchdog run. */
  isStalled = false;
  /** Others are told that nobody is there, though the pod lives: death that is seen need not be true. */
  isRefusing = false;
  /** Each start of the agent's process is another life. */
  #life = 0;
  #held: (() => void)[] = [];
  #stalled: (() => void)[] = [];
  #remembered: Remembered = {};
  #deadlineMs = 0;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
    this.uid = `${name}-uid-0`;
    this.server = new SimulatedServer(world, this);
  }

  get isUp(): boolean {
    return this.agent !== undefined;
  }

  start(): void {
    if (this.agent) return;
    const life = ++this.#life;
    const world = this.#world;
    const clock: Clock = {
      now: () => world.nowMs,
      monotonic: () => world.nowMs,
      timer: (delayMs, run) =>
        world.later(delayMs, () => this.#whenAwake(() => life === this.#life && run())),
    };
    const guard: Guard = {
      extend: (deadlineMs) => {
        if (life !== this.#life) return;
        this.#deadlineMs = deadlineMs;
        world.later(deadlineMs - world.nowMs, () => this.#watch(life));
      },
    };
    const memory: Memory = {
      read: async () => this.#remembered,
      write: async (remembered) => {
        await this.sleep(world.chance.between(1, 5));
        this.#remembered = remembered;
      },
    };
    const { timings, log } = world;
    const me = { name: this.name, uid: this.uid };
    const agent = new Agent({
      me,
      lease: world.leaseFor(this),
      pods: world.podsFor(this),
      peers: world.peersFor(this),
      engine: this.server,
      guard,
      memory,
      clock,
      timings,
      log: {
        info: (message, fields) => log(this.name, message, fields),
        warn: (message, fields) => log(this.name, message, fields),
      },
    });
    this.agent = agent;
    const rounds = async (run: () => Promise<unknown>) => {
      while (life === this.#life) {
        await run().catch((error: unknown) => log(this.name, "round failed", { error: String(error) }));
        await this.sleep(timings.renewEveryMs * world.chance.between(0.8, 1.2));
      }
    };
    void agent.keeper.recall().then(() => {
      void rounds(() => agent.keeper.round());
      void rounds(() => agent.work());
    });
  }

  /** The watchdog looks: it needs nothing of the agent, but a frozen pod freezes it too. */
  #watch(life: number): void {
    if (life !== this.#life) return;
    if (this.isFrozen) {
      this.#held.push(() => this.#watch(life));
      return;
    }
    if (this.#world.nowMs >= this.#deadlineMs && this.server.isPrimary) {
      this.#world.log(this.name, "the watchdog ends PostgreSQL", {});
      this.server.die();
    }
  }

  /** Everything ends; only the disk stays. */
  kill(): void {
    this.#life++;
    this.agent = undefined;
    this.isFrozen = false;
    this.isStalled = false;
    this.#held = [];
    this.#stalled = [];
    this.server.die();
  }

  freeze(): void {
    this.isFrozen = true;
  }

  thaw(): void {
    this.isFrozen = false;
    const held = this.#held.splice(0);
    // Which of its processes runs first is anybody's guess.
    if (this.#world.chance.isTrue(0.5)) held.reverse();
    for (const run of held) run();
  }

  stall(): void {
    this.isStalled = true;
  }

  unstall(): void {
    this.isStalled = false;
    for (const run of this.#stalled.splice(0)) run();
  }

  whenThawed(run: () => void): void {
    if (this.isFrozen) this.#held.push(run);
    else run();
  }

  #whenAwake(run: () => void): void {
    if (this.isFrozen) this.#held.push(() => this.#whenAwake(run));
    else if (this.isStalled) this.#stalled.push(() => this.#whenAwake(run));
    else run();
  }

  loseVolume(): void {
    this.kill();
    this.disk.data = undefined;
    this.#remembered = {};
  }

  /** Resolves in this life or never. */
  async sleep(ms: number): Promise<void> {
    const life = this.#life;
    await new Promise<void>((resolve) => {
      this.#world.later(ms, () => this.#whenAwake(() => life === this.#life && resolve()));
    });
  }
}
