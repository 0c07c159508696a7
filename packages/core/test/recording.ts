/** Answers of a real API server, written down and given again. */
import type { OpenApiSchema } from "../src/merge/index.ts";
import type { Answer, Server } from "./play.ts";

export const recordingFile = new URL("./recorded-writes.generated.json", import.meta.url);

/** Kinds whose definitions are small enough to keep beside the answers. */
export const recordedKinds = ["ConfigMap", "Service", "Widget"];

export interface Recording {
  readonly version: string;
  readonly definitions: Record<string, OpenApiSchema>;
  readonly answers: readonly (Answer & { readonly asked: number })[];
}

/** A number that tells requests apart. */
function digest(method: string, path: string, body: unknown): number {
  let hash = 5381;
  for (const character of `${method} ${path} ${JSON.stringify(body) ?? ""}`) {
    hash = (Math.imul(hash, 33) ^ (character.codePointAt(0) ?? 0)) >>> 0;
  }
  return hash;
}

export class Recorder implements Server {
  readonly answers: (Answer & { asked: number })[] = [];
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  async send(method: string, path: string, body?: unknown, contentType?: string): Promise<Answer> {
    const answer = await this.#server.send(method, path, body, contentType);
    this.answers.push({ asked: digest(method, path, body), ...answer });
    return answer;
  }
}

export class Replay implements Server {
  readonly #answers: Recording["answers"];
  #at = 0;

  constructor(recording: Recording) {
    this.#answers = recording.answers;
  }

  async send(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = this.#answers[this.#at++];
    if (answer === undefined || answer.asked !== digest(method, path, body)) {
      throw new Error(
        `nothing is recorded for ${method} ${path}: run the differential test with KEELSON_RECORD=1`,
      );
    }
    return answer;
  }
}

/** The definitions of some kinds of the core group and all they refer to, without prose. */
export function definitionsFor(
  all: Readonly<Record<string, OpenApiSchema>>,
  kinds: readonly string[],
): Record<string, OpenApiSchema> {
  const out: Record<string, OpenApiSchema> = {};
  const visit = (name: string) => {
    const schema = all[name];
    if (schema === undefined || out[name] !== undefined) return;
    const text = JSON.stringify(schema, (key, value: unknown) => (key === "description" ? undefined : value));
    out[name] = JSON.parse(text) as OpenApiSchema;
    for (const [, reference] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      visit(reference as string);
  };
  for (const kind of kinds) visit(`io.k8s.api.core.v1.${kind}`);
  return out;
}
