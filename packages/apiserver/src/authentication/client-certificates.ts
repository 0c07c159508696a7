/** Users by client certificate: the common name is the user, organizations are groups. */
import type { Authenticator } from "../contracts/authentication.ts";

export const clientCertificates: Authenticator = {
  authenticate({ clientCertificate: certificate }) {
    if (!certificate?.commonName) return undefined;
    return { name: certificate.commonName, groups: [...certificate.organizations] };
  },
};
