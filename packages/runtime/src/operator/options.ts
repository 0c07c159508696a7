/** What an operator is made of and how it may differ from the usual. */
import type { Client } from "@keelson/client";
import type { World } from "@keelson/core";
import type { AnyController } from "../controller/permissions.ts";
import type { ConnectSettings, LeaderElectionOptions } from "../leader/election.ts";
import type { Logger, LogLevel } from "../log/logger.ts";
import type { Connector } from "../reconcile/connector.ts";
import type { Webhook } from "../webhook/webhook.ts";
import type { WebhookServerOptions } from "../webhook/webhooks.ts";
import type { EndpointOptions } from "./endpoints.ts";
import type { MetricFamily } from "./metric-text.ts";

/** What an operator runs, and where. */
export interface OperatorOptions {
  readonly controllers: readonly AnyController[];
  /** Names the operator in logs and its lease. Default: the first controller's name. */
  readonly name?: string;
  /** Looks at this namespace only. Default: at all of them. */
  readonly namespace?: string;
  /**
   * Looks at these namespaces only, at each by itself: `select` and `all` see the objects of the one that the object is
   * in. Bind the role in each. Not for controllers of kinds without a namespace.
   */
  readonly namespaces?: readonly string[];
  /** Who we talk to: a client, or how to connect one. Default: the cluster that the environment names. */
  readonly client?: Client | ConnectSettings;
  /** Of several replicas one works. Default: on inside a cluster, off elsewhere. */
  readonly leaderElection?: boolean | LeaderElectionOptions;
  /** `/healthz`, `/readyz` and `/metrics`. Default: port 8080 inside a cluster, off elsewhere. */
  readonly endpoints?: boolean | EndpointOptions;
  /** Counts for Prometheus. Default: on where there are endpoints. */
  readonly metrics?: boolean;
  /** Metrics of the operator's own, served beside those of its controllers. */
  readonly collect?: () => readonly MetricFamily[];
  readonly world?: World;
  /** Default: plain lines at a terminal and JSON elsewhere. */
  readonly log?: Logger;
  /** How much the default log tells. Default: what the environment variable `LOG_LEVEL` says, or `info`. */
  readonly logLevel?: LogLevel;
  /** How long a stop waits for reconciles under way. Default: 20 s. A pod has 30 s by default. */
  readonly shutdownMs?: number;
  /** A cache that is cut off for longer makes the operator unready. Default: 2 minutes. */
  readonly staleMs?: number;
  /**
   * Admission webhooks, and resources that are converted though no controller here has them. Served inside a cluster,
   * and elsewhere when `webhookServer.url` says where the API server finds this process.
   */
  readonly webhooks?: readonly Webhook[];
  readonly webhookServer?: WebhookServerOptions;
  /** How `ctx.connect` reaches applications: by default directly inside a cluster, by port-forward elsewhere. */
  readonly connect?: Connector;
}
