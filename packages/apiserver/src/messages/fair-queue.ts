/** A queue in which users take turns: what one of them adds never waits for all that another has added. */

export class FairQueue<T> {
  /** In the order of their next turns. No queue is empty. */
  readonly #byUser = new Map<string, T[]>();

  add(user: string, item: T): void {
    const own = this.#byUser.get(user);
    if (own) own.push(item);
    else this.#byUser.set(user, [item]);
  }

  /** The first item of the user whose turn it is. */
  take(): T | undefined {
    for (const [user, items] of this.#byUser) {
      const item = items.shift();
      // What remains goes to the end.
      this.#byUser.delete(user);
      if (items.length > 0) this.#byUser.set(user, items);
      return item;
    }
    return undefined;
  }

  sizeOf(user: string): number {
    return this.#byUser.get(user)?.length ?? 0;
  }
}
