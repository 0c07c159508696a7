/** Names of storage drivers. */
import { validateDns1123Subdomain } from "@keelson/core";
import type { Errors } from "../checks/errors.ts";

export function csiDriverName(path: string, name: string | undefined, errors: Errors): void {
  if (!name) {
    errors.required(path);
    return;
  }
  if (name.length > 63) errors.tooLong(path, 63);
  errors.messages(path, name, validateDns1123Subdomain(name.toLowerCase()));
}
