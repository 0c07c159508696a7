/** Which certificates members show: what stands in a Secret reaches a running pod only after a while. */
import { X509Certificate } from "node:crypto";
import type { InspectCertificate } from "@keelson/kit";
import type { TlsUse } from "../resources/certificate-names.ts";
import type { EtcdContext } from "../resources/declaration.ts";
import { clientPort, peerPort } from "../resources/names.ts";

/** Whether every member shows, on the port of this use, the certificate that its Secret holds. */
export type Served = (
  use: TlsUse,
  expected: ReadonlyMap<string, string>,
  ctx: EtcdContext,
) => Promise<boolean>;

/** Asks all members at once; a member that is not there does not show it. */
export function servedBy(look: InspectCertificate): Served {
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

async function shownBy(look: InspectCertificate, name: string, port: number, ctx: EtcdContext) {
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
