/** Who asks: the contract of authenticators. */
import type { HttpHeaders } from "@keelson/core";

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface AuthenticationRequest {
  readonly headers: HttpHeaders;
  /** Verified by the TLS layer against the client CA; absent in process and over the socket. */
  readonly clientCertificate?: ClientCertificate;
}

export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly raw: Uint8Array;
}

export interface Authenticator {
  /**
   * The user, or `undefined` when the request carries no credentials this authenticator knows; the next is
   * asked then. Credentials that are known to be wrong throw `unauthorized()`.
   */
  authenticate(request: AuthenticationRequest): Promise<UserInfo | undefined> | UserInfo | undefined;
}
