/** A sequence of requests whose answers are kept. */
import { plain, plainMessage } from "./plain.ts";
import type { Player, Reply, SendOptions } from "./players.ts";

export interface Told {
  readonly label: string;
  readonly code: number;
  /** The object, or of a refusal its Status. */
  readonly body?: unknown;
  readonly warnings?: string;
}

export class Story {
  readonly told: Told[] = [];
  readonly #player: Player;

  constructor(player: Player) {
    this.#player = player;
  }

  /** Sends and keeps the answer. */
  async tell(
    label: string,
    method: string,
    path: string,
    body?: unknown,
    options?: SendOptions,
  ): Promise<Reply> {
    const reply = await this.do(method, path, body, options);
    this.keep(label, reply.code, reply.body, reply.warnings);
    return reply;
  }

  /** Sends only. */
  do(method: string, path: string, body?: unknown, options?: SendOptions): Promise<Reply> {
    return this.#player.send(method, path, body, options);
  }

  keep(label: string, code: number, body: unknown, warnings = ""): void {
    this.told.push({
      label,
      code,
      body: plain(body),
      ...(warnings && { warnings: plainMessage(warnings) }),
    });
  }

  settle(): Promise<void> {
    return this.#player.settle();
  }

  async namespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.do("POST", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
    });
    await this.do("POST", `/api/v1/namespaces/${name}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default" },
    });
  }
}

export type Scenario = (story: Story) => Promise<void>;

export async function play(scenario: Scenario, player: Player): Promise<readonly Told[]> {
  const story = new Story(player);
  await scenario(story);
  return story.told;
}
