/** The certificate that a server presents: what a Secret holds reaches a running pod only after a while. */
import type { X509Certificate } from "node:crypto";
import { connect } from "node:tls";

/** Looks at the certificate behind an address; undefined when none was presented. */
export type InspectCertificate = (address: {
  readonly host: string;
  readonly port: number;
}) => Promise<X509Certificate | undefined>;

const timeoutMs = 2_000;

/**
 * Looks by a TLS handshake. It does not matter who issued the certificate, or whether the server would accept us. A server that
 * does not answer within two seconds presents none.
 */
export const presentedCertificate: InspectCertificate = async ({ host, port }) =>
  await new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: timeoutMs });
    const end = (certificate: X509Certificate | undefined) => {
      socket.destroy();
      resolve(certificate);
    };
    socket.once("secureConnect", () => end(socket.getPeerX509Certificate()));
    socket.once("timeout", () => end(undefined));
    socket.once("error", () => end(undefined));
  });
