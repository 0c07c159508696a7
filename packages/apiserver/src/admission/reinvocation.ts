/** The mutating phase runs again, once, when one of its later steps changed what the earlier ones saw. */
import { canonicalJson } from "@keelson/core";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";

/** What a step that may be asked again keeps about one request. */
export class Rounds {
  /** 0 the first time, 1 when everything is asked again. */
  round = 0;
  /** Something changed: plug-ins that want to see the result is to be asked again. */
  wanted = false;
  readonly #steps = new Map<string, Step>();

  of(plugin: string): Step {
    let step = this.#steps.get(plugin);
    if (!step) {
      step = new Step(this);
      this.#steps.set(plugin, step);
    }
    return step;
  }
}

/** The part of one plug-in, whose own parts are named by keys. */
export class Step {
  readonly #rounds: Rounds;
  readonly #asked = new Set<string>();
  readonly #again = new Set<string>();
  #output: string | undefined;

  constructor(rounds: Rounds) {
    this.#rounds = rounds;
  }

  /** At the start: what was changed since this plug-in's turn is for those who asked to see changes. */
  begin(request: AdmissionRequest): void {
    if (this.#rounds.round > 0 && this.#output !== outputOf(request)) this.#recall();
  }

  end(request: AdmissionRequest): void {
    this.#output = outputOf(request);
  }

  skips(key: string): boolean {
    return this.#rounds.round > 0 && !this.#again.has(key);
  }

  /** A part ran; `again` when it wants to see later changes. */
  ran(key: string, changed: boolean, again: boolean): void {
    if (changed) {
      this.#recall();
      this.#rounds.wanted = true;
    }
    if (again) this.#asked.add(key);
  }

  #recall(): void {
    for (const key of this.#asked) this.#again.add(key);
    this.#asked.clear();
  }
}

function outputOf({ object }: AdmissionRequest): string | undefined {
  return object && canonicalJson(object);
}

const running = new WeakMap<AdmissionRequest, Rounds>();

export function roundsOf(request: AdmissionRequest): Rounds {
  let rounds = running.get(request);
  if (!rounds) {
    rounds = new Rounds();
    running.set(request, rounds);
  }
  return rounds;
}

/** The plug-ins with their mutating phases gathered in the first, so that they can run again together. */
export function reinvoking(plugins: readonly AdmissionPlugin[]): AdmissionPlugin[] {
  const mutating = plugins.filter((plugin) => plugin.admit);
  const chain: AdmissionPlugin = {
    name: "MutatingPhase",
    admit(request) {
      const first = runAll(mutating, request);
      return first ? first.then(() => again(request)) : again(request);
    },
  };
  const again = (request: AdmissionRequest): Promise<void> | undefined => {
    const rounds = running.get(request);
    if (!rounds?.wanted) return undefined;
    rounds.round = 1;
    return runAll(mutating, request);
  };
  const rest = plugins.flatMap(({ name, validate }): AdmissionPlugin[] =>
    validate ? [{ name, validate }] : [],
  );
  return [chain, ...rest];
}

/** Waits only when a plug-in does. */
function runAll(
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
  from = 0,
): Promise<void> | undefined {
  for (let i = from; i < plugins.length; i++) {
    const pending = plugins[i]?.admit?.(request);
    if (pending) return goOn(pending, plugins, request, i + 1);
  }
  return undefined;
}

/** Apart from the loop, each of whose turns would be kept for the closure. */
function goOn(
  pending: Promise<void>,
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
  next: number,
): Promise<void> {
  return pending.then(() => runAll(plugins, request, next));
}
