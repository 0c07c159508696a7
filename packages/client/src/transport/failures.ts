/** What a broken connection means, in words that say what to look at. */
import { asError, lookupTable } from "@keelson/core/internal";
import { ClientError } from "../errors.ts";

const untrusted: Readonly<Record<string, string>> = lookupTable({
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is signed by an authority we do not trust",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is signed by an authority we do not trust",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is signed by an authority we do not trust",
  UNABLE_TO_GET_ISSUER_CERT: "its certificate is signed by an authority we do not trust",
  CERT_SIGNATURE_FAILURE: "its certificate's signature is wrong",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; is the clock right?",
});

/** Nothing of the request reached the server. */
export function connectionFailed(server: string, cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause;
  const error = firstOf(cause);
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const distrust = untrusted[code];
  if (distrust !== undefined) {
    const advice = "check the cluster's certificate-authority in the kubeconfig";
    return new ClientError(
      "ServerUntrusted",
      `the server ${server} cannot be trusted: ${distrust}; ${advice}`,
      { cause },
    );
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return new ClientError(
      "ServerUntrusted",
      `the server ${server} cannot be trusted: ${error.message}; set the cluster's tls-server-name in the kubeconfig if the address is right`,
      { cause },
    );
  }
  return new ClientError("ConnectionFailed", `no connection to ${server}: ${reasonOf(error, code)}`, {
    cause,
  });
}

/** The request was sent, wholly or in part, and no answer came. */
export function connectionLost(server: string, cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause;
  return new ClientError("ConnectionLost", `the connection to ${server} broke: ${firstOf(cause).message}`, {
    cause,
  });
}

function reasonOf(error: Error, code: string): string {
  switch (code) {
    case "ECONNREFUSED":
      return "nobody listens there (connection refused); is the API server running?";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host name cannot be resolved (${code})`;
    case "ENOENT":
      return "there is no such socket; is the API server running?";
    case "EPROTO":
      return `${error.message}; does the server speak TLS at this address?`;
    default:
      return error.message;
  }
}

/** A host with several addresses fails with all of them at once; one says enough. */
function firstOf(cause: unknown): Error {
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0];
  return asError(cause);
}
