/** Which certificates members show: what stands in a Secret reaches a running pod only after a while. */
import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import type { EtcdContext } from "../declaration.ts";
import { clientPort, peerPort } from "../resources/names.ts";
import type { Served } from "./certificates.ts";

/** The certificate behind an address, in PEM or DER; undefined when none was shown. */
export type Inspect = (address: { host: string; port: number }) => Promise<X509Certificate | undefined>;

const patienceMs = 2_000;

/** Whatever it is, and whether or not the other side would go on with us. */
export const inspect: Inspect = async ({ host, port }) =>
  await new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: patienceMs });
    const end = (certificate: X509Certificate | undefined) => {
      socket.destroy();
      resolve(certificate);
    };
    socket.once("secureConnect", () => end(socket.getPeerX509Certificate()));
    socket.once("timeout", () => end(undefined));
    socket.once("error", () => end(undefined));
  });

/** Asks all members at once; a member that is not there does not show it. */
export function servedBy(look: Inspect): Served {
  return async (use, expected, ctx) => {
    const shown = await Promise.all(
      [...expected].map(async ([member, certificate]) => {
        const found = await shownBy(look, member, use === "peer" ? peerPort : clientPort, ctx);
        return found?.fingerprint256 === new X509Certificate(certificate).fingerprint256;
      }),
    );
    return shown.length > 0 && shown.every(Boolean);
  };
}

async function shownBy(look: Inspect, name: string, port: number, ctx: EtcdContext) {
  const pod = ctx.own.pods.list().find(({ metadata }) => metadata.name === name);
  if (!pod) return undefined;
  const { namespace = "default" } = pod.metadata;
  try {
    await using link = await ctx.connect({ pod: { namespace, name } }, port);
    return await look(link);
  } catch {
    return undefined;
  }
}
