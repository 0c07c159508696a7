/** Tokens of service accounts: issued with claims about what they are bound to, checked against the store. */
import { type Clock, parseTime, type Random } from "@keelson/core";
import type { Authenticator, UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { StoreReader } from "../contracts/store.ts";
import { bearerToken } from "../messages/bearer.ts";
import { decode, type ServiceAccountKeys } from "./service-account-keys.ts";

interface Ref {
  readonly name: string;
  readonly uid: string;
}

interface Claims {
  readonly aud?: readonly string[];
  readonly exp?: number;
  readonly iat?: number;
  readonly iss?: string;
  readonly jti?: string;
  readonly nbf?: number;
  readonly sub?: string;
  readonly "kubernetes.io"?: {
    readonly namespace?: string;
    readonly serviceaccount?: Ref;
    readonly pod?: Ref;
    readonly node?: Ref;
    readonly secret?: Ref;
    readonly warnafter?: number;
  };
}

/** What a token is issued for. */
export interface Grant {
  readonly account: ApiObject;
  readonly pod?: ApiObject | undefined;
  readonly node?: Ref | undefined;
  readonly secret?: ApiObject | undefined;
  readonly expirationSeconds: number;
  /** Seconds after which a client that still uses the token is told so. */
  readonly warnAfterSeconds?: number | undefined;
  readonly audiences: readonly string[];
}

export interface VerifiedToken {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

/** Why a token is not accepted; TokenReview shows it, others read 401. */
export class TokenError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TokenError";
  }
}

/** Deleted objects and clocks that run apart are forgiven this long. */
const leewayMs = 60_000;
const maxRemembered = 4096;

export class ServiceAccountTokens implements Authenticator {
  readonly #keys: ServiceAccountKeys;
  readonly #store: StoreReader;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #issuers: readonly string[];
  /** Audiences of tokens that name none, and what requests are accepted for. */
  readonly audiences: readonly string[];
  /** Claims of tokens whose signature was checked; what they claim is checked at each use. */
  readonly #verified = new Map<string, Claims>();

  constructor(parts: {
    keys: ServiceAccountKeys;
    store: StoreReader;
    clock: Clock;
    random: Random;
    issuers: readonly string[];
    audiences: readonly string[];
  }) {
    this.#keys = parts.keys;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#issuers = parts.issuers;
    this.audiences = parts.audiences;
  }

  issue(grant: Grant): string {
    const now = Math.floor(this.#clock.now() / 1000);
    const { account, pod, secret, node } = grant;
    const { namespace = "", name } = account.metadata;
    return this.#keys.sign({
      aud: [...grant.audiences],
      exp: now + grant.expirationSeconds,
      iat: now,
      iss: this.#issuers[0] ?? "",
      jti: this.#random.uuid(),
      "kubernetes.io": {
        namespace,
        ...(node && { node: refClaim(node) }),
        ...(pod && { pod: refOf(pod) }),
        ...(secret && { secret: refOf(secret) }),
        serviceaccount: refOf(account),
        ...(grant.warnAfterSeconds && { warnafter: now + grant.warnAfterSeconds }),
      },
      nbf: now,
      sub: userName(namespace, name),
    });
  }

  /** The token that a secret of type `kubernetes.io/service-account-token` holds: it never expires. */
  issueForSecret(account: ApiObject, secret: ApiObject): string {
    const { namespace = "", name, uid = "" } = account.metadata;
    const prefix = "kubernetes.io/serviceaccount";
    return this.#keys.sign({
      iss: legacyIssuer,
      sub: userName(namespace, name),
      [`${prefix}/namespace`]: namespace,
      [`${prefix}/secret.name`]: secret.metadata.name,
      [`${prefix}/service-account.name`]: name,
      [`${prefix}/service-account.uid`]: uid,
    });
  }

  authenticate({ headers }: Parameters<Authenticator["authenticate"]>[0]): UserInfo | undefined {
    const token = bearerToken(headers);
    if (token === undefined) return undefined;
    try {
      return this.verify(token, this.audiences)?.user;
    } catch (error) {
      if (error instanceof TokenError) return undefined;
      throw error;
    }
  }

  /** `undefined` for what is no token of ours; throws a TokenError for one that does not hold. */
  verify(token: string, wanted: readonly string[]): VerifiedToken | undefined {
    const claims = this.#verified.get(token) ?? this.#checkSignature(token);
    if (!claims) return undefined;
    if (claims.iss === legacyIssuer) return this.#verifyLegacy(token, claims, wanted);
    const audiences = claims.aud?.length ? claims.aud : this.audiences;
    const shared = audiences.filter((audience) => wanted.includes(audience));
    if (shared.length === 0)
      throw new TokenError(
        `token audiences ${quoted(audiences)} is invalid for the target audiences ${quoted(wanted)}`,
      );
    return { user: this.#checkClaims(claims), audiences: shared };
  }

  #checkSignature(token: string): Claims | undefined {
    const parts = token.split(".");
    if (parts.length !== 3) return undefined;
    const claims = decode(parts[1] as string) as Claims | undefined;
    const issuer = claims?.iss;
    if (!claims || issuer === undefined) return undefined;
    if (!this.#issuers.includes(issuer) && issuer !== legacyIssuer) return undefined;
    const result = this.#keys.verify(token);
    if (result === "unknown key") throw new TokenError("invalid signature, no keys found");
    if (result === "wrong signature")
      throw new TokenError("go-jose/go-jose: error in cryptographic primitive");
    if (this.#verified.size >= maxRemembered) this.#verified.clear();
    this.#verified.set(token, claims);
    return claims;
  }

  #checkClaims(claims: Claims): UserInfo {
    const now = this.#clock.now();
    if (claims.exp !== undefined && now - leewayMs > claims.exp * 1000)
      throw new TokenError("service account token has expired");
    if (claims.nbf !== undefined && now + leewayMs < claims.nbf * 1000)
      throw new TokenError("service account token is not valid yet");
    if (claims.iat !== undefined && now + leewayMs < claims.iat * 1000)
      throw new TokenError("service account token is issued in the future");
    const bound = claims["kubernetes.io"] ?? {};
    const { namespace = "", serviceaccount = { name: "", uid: "" } } = bound;
    this.#account(namespace, serviceaccount);
    if (bound.secret) this.#bound("secrets", "secret", "secret", namespace, bound.secret);
    if (bound.pod) this.#bound("pods", "pod", "pod", namespace, bound.pod);
    else if (bound.node) this.#bound("nodes", "node", "node", "", bound.node);
    const extra: Record<string, readonly string[]> = {};
    const prefix = "authentication.kubernetes.io";
    if (claims.jti) extra[`${prefix}/credential-id`] = [`JTI=${claims.jti}`];
    if (bound.node) {
      extra[`${prefix}/node-name`] = [bound.node.name];
      if (bound.node.uid) extra[`${prefix}/node-uid`] = [bound.node.uid];
    }
    if (bound.pod) {
      extra[`${prefix}/pod-name`] = [bound.pod.name];
      extra[`${prefix}/pod-uid`] = [bound.pod.uid];
    }
    return serviceAccountUser(namespace, serviceaccount.name, serviceaccount.uid, extra);
  }

  #account(namespace: string, ref: Ref): ApiObject {
    const account = this.#store.get({ group: "", resource: "serviceaccounts" }, namespace, ref.name);
    if (!account) throw new TokenError(`serviceaccounts ${JSON.stringify(ref.name)} not found`);
    if (account.metadata.uid !== ref.uid)
      throw new TokenError(`service account UID (${account.metadata.uid}) does not match claim (${ref.uid})`);
    if (this.#wasDeleted(account))
      throw new TokenError(`service account ${namespace}/${ref.name} has been deleted`);
    return account;
  }

  #bound(resource: string, kind: string, claim: string, namespace: string, ref: Ref): void {
    const object = this.#store.get({ group: "", resource }, namespace, ref.name);
    if (!object || this.#wasDeleted(object))
      throw new TokenError("service account token has been invalidated");
    if (object.metadata.uid !== ref.uid)
      throw new TokenError(
        `${kind} UID (${object.metadata.uid}) does not match service account ${claim} ref claim (${ref.uid})`,
      );
  }

  #wasDeleted(object: ApiObject): boolean {
    const { deletionTimestamp } = object.metadata;
    return (
      typeof deletionTimestamp === "string" && parseTime(deletionTimestamp) < this.#clock.now() - leewayMs
    );
  }

  #verifyLegacy(token: string, claims: Claims, wanted: readonly string[]): VerifiedToken {
    const audiences = this.audiences.filter((audience) => wanted.includes(audience));
    if (audiences.length === 0)
      throw new TokenError(
        `token audiences ${quoted(this.audiences)} is invalid for the target audiences ${quoted(wanted)}`,
      );
    const claim = (name: string): string =>
      String((claims as Record<string, unknown>)[`kubernetes.io/serviceaccount/${name}`] ?? "");
    const namespace = claim("namespace");
    const ref = { name: claim("service-account.name"), uid: claim("service-account.uid") };
    const secret = this.#store.get({ group: "", resource: "secrets" }, namespace, claim("secret.name"));
    const held = (secret?.data as Record<string, string> | undefined)?.token;
    if (!secret || secret.metadata.deletionTimestamp)
      throw new TokenError("service account token has been invalidated");
    if (held === undefined || Buffer.from(held, "base64").toString() !== token)
      throw new TokenError("token does not match server's copy");
    this.#account(namespace, ref);
    return { user: serviceAccountUser(namespace, ref.name, ref.uid), audiences };
  }
}

const legacyIssuer = "kubernetes/serviceaccount";

export function userName(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

function serviceAccountUser(
  namespace: string,
  name: string,
  uid: string,
  extra: UserInfo["extra"] = {},
): UserInfo {
  return {
    name: userName(namespace, name),
    uid,
    groups: serviceAccountGroups(namespace),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function refOf(object: ApiObject) {
  return { name: object.metadata.name, uid: object.metadata.uid ?? "" };
}

function refClaim({ name, uid }: Ref) {
  return { name, ...(uid && { uid }) };
}

/** A list of strings as Go's %q prints it. */
export function quoted(list: readonly string[]): string {
  return `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;
}
