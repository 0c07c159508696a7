/** Deliberate faults, one each, from what went wrong in other operators: the stories must find every one of them. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** What the story must be like for it to matter. */
  readonly durability?: "quorum" | "async";
  /** A story that finds it; those that take longer to find are left to `node test/mutate.ts N`. */
  readonly seed?: number;
  readonly instances?: number;
}

export const mutants: readonly Mutant[] = [
  {
    name: "one vote is enough",
    file: "src/ha/quorum.ts",
    from: "return members.length - acks + 1;",
    to: "return acks - acks + 1;",
    seed: 32,
  },
  {
    name: "the longest log wins, whatever its epoch",
    file: "src/ha/quorum.ts",
    from: "if (a.timelineEpoch !== b.timelineEpoch) return a.timelineEpoch - b.timelineEpoch;",
    to: "",
    seed: 37,
  },
  {
    name: "voters go on receiving",
    file: "src/agent/keeper.ts",
    from: "if (vote === undefined) return false;",
    to: "if (vote === undefined || !this.#isVain) return false;",
  },
  {
    name: "a promise is dropped before the new one holds",
    file: "src/ha/sync.ts",
    from: "return holders.length >= newest.acks ?",
    to: "return holders.length >= 0 ?",
  },
  {
    name: "a new promise is followed before it is published",
    file: "src/ha/sync.ts",
    from: 'return { action: "publish", quorums: [...published, target] };',
    to: 'return applied && isSameQuorum(applied, target) ? { action: "publish", quorums: [target] } : { action: "apply", quorum: target };',
    seed: 2,
  },
  {
    name: "the primary commits alone until its standbys are there",
    file: "src/agent/agent.ts",
    from: "synchronousNames: newest ? standbyNames(newest, this.me.name) : this.#cautious(),",
    to: 'synchronousNames: newest || this.#cautious() ? "" : "",',
    seed: 1,
  },
  {
    name: "the watchdog is asleep",
    file: "src/agent/keeper.ts",
    from: "this.#options.guard.extend(deadlineMs);",
    to: "this.#options.guard.extend(deadlineMs + 1e9); this.#hold = { epoch, deadlineMs: deadlineMs + 1e9 };",
    durability: "async",
    seed: 23,
  },
  {
    name: "the lease runs out too early for those who wait",
    file: "src/ha/observation.ts",
    from: "if (nowMs - this.#seen.atMs < leaseMs) {",
    to: "if (nowMs - this.#seen.atMs < leaseMs / 4) {",
    durability: "async",
    seed: 4,
  },
  {
    name: "one agreeing instance is enough without the API server",
    file: "src/agent/keeper.ts",
    from: "const agreed = answers.every(Boolean);",
    to: "const agreed = answers.some(Boolean);",
    durability: "async",
  },
  {
    name: "a dead primary's lease is taken early although commits wait for nobody",
    file: "src/agent/campaign.ts",
    from: 'if (lease === "dead" && quorums.some(({ acks }) => acks < 2)) {',
    to: 'if (lease === "dead" && quorums.some(({ acks }) => acks < 0)) {',
    durability: "async",
  },
  {
    name: "promises to the primary are forgotten",
    file: "src/ha/observation.ts",
    from: "this.#promisedUntilMs = nowMs + this.#timings.leaseMs;",
    to: "this.#promisedUntilMs = nowMs;",
    durability: "async",
    seed: 63,
  },
  {
    name: "the lease is taken although another changed it since",
    file: "test/simulation/world.ts",
    from: "if (String(this.#version) !== version) throw",
    to: "if (String(this.#version) === version + 1) throw",
    durability: "async",
    seed: 6,
  },
  {
    name: "a Lease that is older than what the volume knows is believed",
    file: "src/agent/keeper.ts",
    from: "return present !== undefined && knowsMore(knowledgeOf(this.known), present);",
    to: "return present !== undefined && knowsMore(knowledgeOf(this.known), present) && false;",
    seed: 1,
  },
];
