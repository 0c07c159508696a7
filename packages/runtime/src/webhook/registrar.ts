/** Writes the authority of the webhooks into the objects that register them, whenever it is not there. */
import type { Client } from "@keelson/client";
import {
  type AnyKind,
  type Clock,
  groupKind,
  type JsonObject,
  type JsonValue,
  type Stored,
} from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { Resource } from "@keelson/schema";
import type { Logger } from "../log/logger.ts";
import { isLater } from "./certificates.ts";
import {
  CustomResourceDefinition,
  entryName,
  MutatingConfiguration,
  ValidatingConfiguration,
} from "./configurations.ts";
import { follow } from "./follow.ts";
import type { Webhook } from "./webhook.ts";

export interface RegistrarOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** The operator's name: that of its configurations. */
  readonly name: string;
  readonly webhooks: readonly Webhook[];
  readonly converted: readonly Resource[];
  readonly signal: AbortSignal;
}

/** An object that names the authority. */
interface Registration {
  readonly kind: AnyKind;
  readonly name: string;
  /** Where in the object authorities belong, as paths of a JSON patch; none when it registers something else. */
  readonly places: (object: Stored) => readonly Place[];
  object: Stored | undefined;
  seen: boolean;
  problem: string | undefined;
}

interface Place {
  readonly path: string;
  readonly value: JsonValue | undefined;
  /** Guards the place against a list that was changed meanwhile. */
  readonly test: JsonObject[];
}

export class Registrar {
  readonly #options: RegistrarOptions;
  readonly #registrations: Registration[];
  #authorities: string | undefined;
  #writing: Promise<void> = Promise.resolve();
  #following: Promise<unknown> = Promise.resolve();

  constructor(options: RegistrarOptions) {
    this.#options = options;
    const { webhooks, converted, name } = options;
    const has = (role: "validate" | "mutate") => webhooks.some(({ definition }) => definition[role]);
    const entries = (role: "validate" | "mutate") => webhooks.map((each) => entryName(each, role, name));
    this.#registrations = [
      ...(has("validate") ? [configuration(ValidatingConfiguration, name, entries("validate"))] : []),
      ...(has("mutate") ? [configuration(MutatingConfiguration, name, entries("mutate"))] : []),
      ...converted.map((resource) => definition(resource.crd().metadata.name)),
    ];
  }

  start(): void {
    const { client, log, signal } = this.#options;
    this.#following = Promise.all(
      this.#registrations.map((each) =>
        follow({
          ...{ client, log, signal, kind: each.kind, name: each.name },
          see: (object) => {
            each.object = object;
            each.seen = true;
            this.#write();
          },
          fail: (error) => {
            each.problem = error && `cannot watch ${groupKind(each.kind)} ${each.name}: ${error.message}`;
          },
        }),
      ),
    );
  }

  /** Resolves when nothing is followed or written any more. */
  async ended(): Promise<void> {
    await this.#following;
    await this.#writing;
  }

  /** These authorities are to be believed from now on. */
  publish(authorities: string): void {
    this.#authorities = Buffer.from(authorities).toString("base64");
    this.#write();
  }

  /** Why the API server may not find the webhooks or not believe them; undefined when it does both. */
  problem(): string | undefined {
    for (const each of this.#registrations) {
      const what = `${groupKind(each.kind)} ${each.name}`;
      if (each.problem !== undefined) return each.problem;
      if (!each.seen) return `${what} has not been seen yet`;
      if (!each.object) return `${what} does not exist; keelson generate writes it`;
      const places = each.places(each.object);
      if (places.length === 0) return `${what} does not name the webhooks; keelson generate writes it`;
      if (places.some(({ value }) => value !== this.#authorities))
        return `${what} does not name our authority yet`;
    }
    return undefined;
  }

  #write(): void {
    this.#writing = this.#writing.then(() => this.#writeAll());
  }

  async #writeAll(): Promise<void> {
    const { client, clock, log, signal } = this.#options;
    const authorities = this.#authorities;
    if (authorities === undefined) return;
    for (const each of this.#registrations) {
      const places = each.object ? each.places(each.object) : [];
      const wrong = places.filter(
        ({ value }) => value !== authorities && !isLater(text(value), text(authorities), clock.now()),
      );
      if (wrong.length === 0 || signal.aborted) continue;
      const operations = wrong.flatMap(({ path, test }) => [
        ...test,
        { op: "add", path, value: authorities },
      ]);
      try {
        const served = await client
          .kind(each.kind)
          .patch({ name: each.name }, { type: "json", operations: operations as never }, { signal });
        each.object = served as Stored;
        each.problem = undefined;
      } catch (error) {
        if (signal.aborted) return;
        // Whatever it met, the next state that is seen brings us back; a server that is away ends the watch too.
        each.problem = `cannot write our authority into ${groupKind(each.kind)} ${each.name}: ${errorText(error)}`;
        log.warn(each.problem, { error });
        this.#again();
      }
    }
  }

  #again(): void {
    const { client, signal } = this.#options;
    const cancel = client.clock.timer(retryMs, () => this.#write());
    signal.addEventListener("abort", () => cancel(), { once: true });
  }
}

const retryMs = 1_000;

function text(base64: JsonValue | undefined): string {
  return typeof base64 === "string" ? Buffer.from(base64, "base64").toString() : "";
}

function configuration(kind: AnyKind, name: string, entries: readonly string[]): Registration {
  return {
    ...{ kind, name, object: undefined, seen: false, problem: undefined },
    places: (object) => {
      const { webhooks = [] } = object as unknown as {
        webhooks?: { name: string; clientConfig: { caBundle?: string } }[];
      };
      return webhooks.flatMap((each, index) => {
        if (!entries.includes(each.name)) return [];
        const test = [{ op: "test", path: `/webhooks/${index}/name`, value: each.name }];
        return [
          { path: `/webhooks/${index}/clientConfig/caBundle`, value: each.clientConfig.caBundle, test },
        ];
      });
    },
  };
}

function definition(name: string): Registration {
  return {
    ...{ kind: CustomResourceDefinition, name, object: undefined, seen: false, problem: undefined },
    places: (object) => {
      const { spec } = object as unknown as {
        spec: { conversion?: { webhook?: { clientConfig?: { caBundle?: string } } } };
      };
      const client = spec.conversion?.webhook?.clientConfig;
      const path = "/spec/conversion/webhook/clientConfig/caBundle";
      return client ? [{ path, value: client.caBundle, test: [] }] : [];
    },
  };
}
