/** Controllers that come and go while the operator runs, beside those that it was started with. */
import type { InformerSet } from "../cache/informer-set.ts";
import type { AnyController } from "../controller/permissions.ts";
import type { HostedControllers } from "../controller/raw-controller.ts";
import { RuntimeError } from "../errors.ts";
import type { Loop } from "../reconcile/loop.ts";

export interface HostOptions {
  /** Every loop of the operator: those of hosted controllers come in and go out. */
  readonly loops: Loop[];
  readonly informers: InformerSet;
  /** Makes the loop of a controller whose caches are those of this set. */
  readonly loopFor: (controller: AnyController, informers: InformerSet) => Loop;
}

interface Group {
  readonly loops: readonly Loop[];
  readonly informers: InformerSet;
}

export class Host implements HostedControllers {
  readonly #options: HostOptions;
  readonly #groups = new Map<string, Group>();

  constructor(options: HostOptions) {
    this.#options = options;
  }

  has(id: string): boolean {
    return this.#groups.has(id);
  }

  async run(id: string, controllers: readonly AnyController[]): Promise<void> {
    await this.stop(id);
    this.#refuseNames(controllers);
    const informers = this.#options.informers.branch();
    const loops = controllers.map((controller) => this.#options.loopFor(controller, informers));
    const group: Group = { loops, informers };
    this.#groups.set(id, group);
    this.#options.loops.push(...loops);
    for (const loop of loops) {
      loop.listen();
      for (const { informer } of loop.watches) informer.start();
    }
    try {
      await Promise.all(loops.map((loop) => loop.run()));
      // A cache that was there before tells nothing of what it held already.
      for (const loop of loops) loop.resync();
    } catch (error) {
      await this.stop(id);
      throw error;
    }
  }

  async stop(id: string): Promise<void> {
    const group = this.#groups.get(id);
    if (!group) return;
    this.#groups.delete(id);
    await Promise.all(group.loops.map((loop) => loop.drain()));
    for (const loop of group.loops) this.#options.loops.splice(this.#options.loops.indexOf(loop), 1);
    await group.informers.release();
  }

  /** Names mark children and field managers. */
  #refuseNames(controllers: readonly AnyController[]): void {
    const taken = this.#options.loops.map(({ name }) => name);
    for (const { name } of controllers) {
      if (taken.includes(name)) {
        throw new RuntimeError("InvalidDeclaration", `a controller named "${name}" runs already`);
      }
      taken.push(name);
    }
  }
}
