/** Where a webhook is. */
import { validateDns1123Subdomain } from "@keelson/core";
import type { WebhookClientConfig } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { portNumber } from "../checks/formats.ts";

const form = "; desired format: https://host[/path]";

export function checkClientConfig(path: string, config: WebhookClientConfig, errors: Errors): void {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined))
    errors.required(path, "exactly one of url or service is required");
  else if (url !== undefined) checkUrl(`${path}.url`, url, errors);
  else if (service) {
    const at = `${path}.service`;
    const { name = "", namespace = "", path: route, port = 0 } = service;
    // The real server names the other of the two; clients see its words.
    checkServiceAddress(at, { name: namespace, namespace: name, path: route, port }, errors);
  }
}

export function checkServiceAddress(
  at: string,
  service: { name: string; namespace: string; path: string | undefined; port: number },
  errors: Errors,
): void {
  const { name, namespace, path, port } = service;
  if (!name) errors.required(`${at}.name`);
  if (!namespace) errors.required(`${at}.namespace`);
  const wrong = portNumber(port);
  if (wrong.length > 0) errors.invalid(`${at}.port`, port, `port is not valid: ${wrong.join(", ")}`);
  checkPath(`${at}.path`, path ?? "", errors);
}

/** By hand, because what browsers' parsers repair must be refused. */
function checkUrl(path: string, text: string, errors: Errors): void {
  const { scheme, authority, query, fragment } = split(text);
  if (scheme !== "https") errors.invalid(path, scheme, `'https' is the only allowed URL scheme${form}`);
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  if (host === "") errors.invalid(path, host, `host must be specified${form}`);
  if (at >= 0) errors.invalid(path, authority.slice(0, at), "user information is not permitted in the URL");
  if (fragment !== "") errors.invalid(path, fragment, "fragments are not permitted in the URL");
  if (query !== "") errors.invalid(path, query, "query parameters are not permitted in the URL");
}

function split(text: string) {
  const [before, fragment] = cut(text, "#");
  const [address, query] = cut(before, "?");
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(address)?.[0] ?? "";
  const rest = scheme === "" ? address : address.slice(scheme.length + 1);
  const authority = rest.startsWith("//") ? cut(rest.slice(2), "/")[0] : "";
  return { scheme, authority, query, fragment };
}

/** What stands before and behind the first of a character. */
function cut(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}

function checkPath(at: string, path: string, errors: Errors): void {
  if (path === "" || path === "/") return;
  if (path === "//") {
    errors.invalid(at, path, "segment[0] may not be empty");
    return;
  }
  if (!path.startsWith("/")) errors.invalid(at, path, "must start with a '/'");
  const inner = path.slice(1).replace(/\/$/, "");
  for (const [i, step] of inner.split("/").entries())
    if (step === "") errors.invalid(at, path, `segment[${i}] may not be empty`);
    else
      for (const problem of validateDns1123Subdomain(step))
        errors.invalid(at, path, `segment[${i}]: ${problem}`);
}
