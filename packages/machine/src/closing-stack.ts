/** What to close, in the reverse order of its opening: AsyncDisposableStack, which Node 22 lacks. */

export class ClosingStack implements AsyncDisposable {
  #closers: (() => unknown)[] = [];

  /** Closes it with the others, and gives it back. */
  use<T extends AsyncDisposable>(value: T): T {
    this.defer(() => value[Symbol.asyncDispose]());
    return value;
  }

  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes everything, once; what fails does not keep the rest open, and the first failure is thrown at the end. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
