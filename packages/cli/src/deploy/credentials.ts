/** Passwords of registries, from where docker and podman keep them. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import type { RegistryCredential } from "@keelson/images";
import { CliError } from "../errors.ts";

/** Those in clear text; helpers that keep them elsewhere are not asked. */
export async function registryCredentials(
  env: NodeJS.ProcessEnv = process.env,
): Promise<RegistryCredential[]> {
  const path = join(env["DOCKER_CONFIG"] ?? join(homedir(), ".docker"), "config.json");
  if (!existsSync(path)) return [];
  let auths: Record<string, { auth?: string }>;
  try {
    ({ auths = {} } = parseJson(readFileSync(path, "utf8")) as { auths?: typeof auths });
  } catch (cause) {
    throw new CliError("NoRegistry", `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return Object.entries(auths).flatMap(([registry, { auth }]) => {
    const [username = "", ...password] = Buffer.from(auth ?? "", "base64")
      .toString()
      .split(":");
    return username === "" ? [] : [{ registry, username, password: password.join(":") }];
  });
}
