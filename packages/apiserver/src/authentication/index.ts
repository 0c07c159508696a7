/** Who sends a request: certificates, tokens, impersonation, and the reviews that tell. */
import { listOf } from "../contracts/flags.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginFactory } from "../contracts/plugin.ts";
import { bootstrapTokens } from "./bootstrap-tokens.ts";
import { clientCertificates } from "./client-certificates.ts";
import { impersonation } from "./impersonation.ts";
import { selfSubjectReviews, tokenReviews } from "./reviews.ts";
import { ServiceAccountKeys } from "./service-account-keys.ts";
import { ServiceAccountTokens } from "./service-account-tokens.ts";
import { staticTokens } from "./static-tokens.ts";
import { tokenRequests } from "./token-request.ts";

const defaultIssuer = "https://kubernetes.default.svc.cluster.local";

export const authentication: PluginFactory = (context) => {
  const { flag } = context;
  const keys = new ServiceAccountKeys({
    signing: flag("service-account-signing-key-file"),
    verifying: listOf(flag("service-account-key-file")),
  });
  const issuers = listOf(flag("service-account-issuer") ?? defaultIssuer);
  const issuer = issuers[0] ?? defaultIssuer;
  const tokens = new ServiceAccountTokens({
    keys,
    store: context.store,
    clock: context.clock,
    random: context.random.fork("service-account-tokens"),
    issuers,
    audiences: listOf(flag("api-audiences") ?? issuer),
  });
  const tokenFile = flag("token-auth-file");
  return {
    authenticators: [
      clientCertificates,
      ...(tokenFile ? [staticTokens(tokenFile)] : []),
      ...(flag("enable-bootstrap-token-auth") === "true"
        ? [bootstrapTokens(context.store, context.clock)]
        : []),
      tokens,
    ],
    impersonate: impersonation(),
    virtual: {
      "/serviceaccounts/token": tokenRequests(context, tokens),
      "authentication.k8s.io/tokenreviews": tokenReviews(context, tokens),
      "authentication.k8s.io/selfsubjectreviews": selfSubjectReviews(context),
    },
    bootstrap: () =>
      context.caCertificate
        ? [authoritiesForExtensions(context.caCertificate, context.frontProxyAuthority)]
        : [],
    paths: {
      "/.well-known/openid-configuration": () => ({
        contentType: "application/json",
        body: JSON.stringify({
          issuer,
          jwks_uri: flag("service-account-jwks-uri") ?? `${issuer}/openid/v1/jwks`,
          response_types_supported: ["id_token"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: keys.algorithms(),
        }),
      }),
      "/openid/v1/jwks": () => ({
        contentType: "application/jwk-set+json",
        body: JSON.stringify(keys.keySet()),
      }),
    },
  };
};

/** Whom extensions believe who a request is from. */
export const frontProxyUser = "front-proxy-client";

/** Where servers that extend this one learn whom to trust. */
function authoritiesForExtensions(authority: string, frontProxy: string | undefined): ApiObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "extension-apiserver-authentication", namespace: "kube-system" },
    data: {
      "client-ca-file": authority,
      ...(frontProxy && {
        "requestheader-allowed-names": JSON.stringify([frontProxyUser]),
        "requestheader-client-ca-file": frontProxy,
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
      }),
    },
  };
}
