/** Who may use the node's API: the API server by its certificate, others by a token and the cluster's rules. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Clock } from "@keelson/core";
import type { NodeApi, ReviewedUser } from "../api/api.ts";

export type Admission = "allowed" | "unauthenticated" | "forbidden";

export interface AuthenticationOptions {
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly nodeName: string;
}

const administrators = "system:masters";
const allowedMs = 60_000;
const refusedMs = 10_000;

export class Authentication {
  readonly #options: AuthenticationOptions;
  readonly #decided = new Map<string, { admission: Admission; until: number }>();

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  async admit(request: IncomingMessage, verb: string, subresource: string): Promise<Admission> {
    const certified = userOf(request.socket as TLSSocket);
    if (certified?.groups.includes(administrators)) return "allowed";
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (certified === undefined && token === undefined) return "unauthenticated";
    const who = certified === undefined ? `token ${token}` : `user ${certified.username}`;
    return await this.#remember([who, verb, subresource].join("\n"), async () => {
      const { api, nodeName } = this.#options;
      const user = certified ?? (await api.reviewToken(token ?? ""));
      if (!user.authenticated) return "unauthenticated";
      if (user.groups.includes(administrators)) return "allowed";
      return (await api.reviewAccess(user, verb, subresource, nodeName)) ? "allowed" : "forbidden";
    });
  }

  async #remember(key: string, decide: () => Promise<Admission>): Promise<Admission> {
    const now = this.#options.clock.monotonic();
    const known = this.#decided.get(key);
    if (known !== undefined && known.until > now) return known.admission;
    const admission = await decide();
    if (this.#decided.size > 1000) this.#decided.clear();
    this.#decided.set(key, { admission, until: now + (admission === "allowed" ? allowedMs : refusedMs) });
    return admission;
  }
}

/** The user in a certificate that the cluster's authority signed. */
function userOf(socket: TLSSocket): ReviewedUser | undefined {
  if (!socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const groups = subject?.O as string | string[] | undefined;
  if (!subject?.CN) return undefined;
  return {
    authenticated: true,
    username: String(subject.CN),
    groups: groups === undefined ? [] : [groups].flat(),
  };
}
