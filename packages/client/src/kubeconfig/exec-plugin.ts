/** Credential plugins: commands that print who we are, for as long as they say it lasts. */
import { type Clock, type ProcessPort, type ProcessResult, parseJson } from "@keelson/core";
import { ClientError } from "../errors.ts";
import type { TerminalRunOptions } from "../system.ts";
import type { Credential } from "../transport/transport.ts";
import type { ClusterEntry, ExecEntry } from "./kubeconfig.ts";

export interface ExecPluginSettings {
  readonly exec: ExecEntry;
  readonly user: string;
  readonly cluster: ClusterEntry;
  /** The cluster's authority, for a plugin that wants to know the cluster. */
  readonly ca?: string;
  readonly process: ProcessPort;
  readonly clock: Clock;
  /** Whether a person sits at our terminal. */
  readonly interactive: boolean;
}

interface ExecStatus {
  token?: string;
  clientCertificateData?: string;
  clientKeyData?: string;
  expirationTimestamp?: string;
}

const pluginTimeoutMs = 120_000;
/** After a refused credential the plugin runs again, but not more often than this. */
const refreshEveryMs = 5_000;
const versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/** Runs the plugin when its last answer has expired, or was refused; callers at the same time share one run. */
export class ExecPlugin {
  readonly #settings: ExecPluginSettings;
  readonly #command: string;
  #credential: Credential | undefined;
  #expiresAt = Number.POSITIVE_INFINITY;
  #ranAt = Number.NEGATIVE_INFINITY;
  #running: Promise<Credential> | undefined;

  constructor(settings: ExecPluginSettings) {
    this.#settings = settings;
    const { apiVersion = "", command, interactiveMode: mode } = settings.exec;
    if (!command) throw this.#invalid("command is missing");
    if (!versions.includes(apiVersion)) throw this.#invalid(`apiVersion must be ${versions.join(" or ")}`);
    if (
      mode === undefined ? apiVersion === versions[0] : !["Never", "IfAvailable", "Always"].includes(mode)
    ) {
      throw this.#invalid("interactiveMode must be Never, IfAvailable or Always");
    }
    this.#command = command;
  }

  async current(): Promise<Credential> {
    if (this.#credential && this.#settings.clock.now() < this.#expiresAt) return this.#credential;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return await this.#running;
  }

  /** True when `current` may now give something else than `credential`. */
  refused(credential: Credential): boolean {
    if (this.#running || this.#credential !== credential) return true;
    if (this.#settings.clock.monotonic() - this.#ranAt < refreshEveryMs) return false;
    this.#credential = undefined;
    return true;
  }

  async #run(): Promise<Credential> {
    const { exec, process, clock } = this.#settings;
    this.#ranAt = clock.monotonic();
    const interactive = this.#settings.interactive && exec.interactiveMode !== "Never";
    if (exec.interactiveMode === "Always" && !interactive) {
      throw this.#failed(
        "wants to ask a person, and there is no terminal; run it once by hand or use another user",
      );
    }
    const options: TerminalRunOptions = {
      env: { ...process.env, ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(this.#info(interactive)) },
      timeoutMs: pluginTimeoutMs,
      terminal: interactive,
    };
    let result: ProcessResult;
    try {
      result = await process.run(this.#command, exec.args, options);
    } catch (cause) {
      const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
      const hint = exec.installHint ? `; ${exec.installHint.trim()}` : "; install it or put it in PATH";
      throw this.#failed(
        missing ? `was not found${hint}` : `could not be started: ${(cause as Error).message}`,
        cause,
      );
    }
    if (result.code !== 0) {
      const how =
        result.code === null ? `was ended by ${result.signal}` : `failed with exit code ${result.code}`;
      const said = result.stderr.trim().split("\n").slice(-5).join(" · ");
      throw this.#failed(said ? `${how}: ${said}` : how);
    }
    return this.#accept(result.stdout);
  }

  #info(interactive: boolean) {
    const { exec, cluster, ca } = this.#settings;
    return {
      apiVersion: exec.apiVersion,
      kind: "ExecCredential",
      spec: {
        interactive,
        cluster: exec.provideClusterInfo
          ? {
              server: cluster.server,
              "tls-server-name": cluster.tlsServerName,
              "insecure-skip-tls-verify": cluster.insecureSkipTlsVerify || undefined,
              "certificate-authority-data": ca && Buffer.from(ca).toString("base64"),
              "proxy-url": cluster.proxyUrl,
              config: cluster.execExtension,
            }
          : undefined,
      },
    };
  }

  #accept(stdout: string): Credential {
    let answer: { apiVersion?: string; status?: ExecStatus };
    try {
      answer = parseJson(stdout) as typeof answer;
    } catch (cause) {
      throw this.#failed(`printed something that is no JSON: ${JSON.stringify(stdout.slice(0, 60))}`, cause);
    }
    if (answer?.apiVersion !== this.#settings.exec.apiVersion) {
      throw this.#failed(
        `answered in version ${answer?.apiVersion}, and ${this.#settings.exec.apiVersion} was asked for`,
      );
    }
    const {
      token,
      clientCertificateData: certificate,
      clientKeyData: key,
      expirationTimestamp,
    } = answer.status ?? {};
    if (!token && !certificate && !key) throw this.#failed("printed neither a token nor a certificate");
    if (!certificate !== !key)
      throw this.#failed("printed a certificate without its key, or a key without its certificate");
    this.#expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
    if (Number.isNaN(this.#expiresAt))
      throw this.#failed(`printed a time that is none: ${expirationTimestamp}`);
    this.#credential = {
      headers: token ? { authorization: `Bearer ${token}` } : undefined,
      certificate,
      key,
    };
    return this.#credential;
  }

  #failed(what: string, cause?: unknown): ClientError {
    const { user } = this.#settings;
    return new ClientError(
      "CredentialPlugin",
      `the credential plugin ${this.#command} of user ${JSON.stringify(user)} ${what}`,
      {
        cause,
      },
    );
  }

  #invalid(what: string): ClientError {
    return new ClientError(
      "KubeconfigInvalid",
      `user ${JSON.stringify(this.#settings.user)} cannot be used: exec.${what}`,
    );
  }
}
