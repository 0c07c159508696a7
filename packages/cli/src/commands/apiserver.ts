/** `keelson apiserver`: the API server alone, with the flags of kube-apiserver. */
import { buildCommand } from "@stricli/core";
import { PORT, wholeNumber } from "../whole-number.ts";

interface ApiServerFlags {
  readonly port: number;
  readonly tokenFile?: string;
  readonly dataDir?: string;
  readonly kubeconfig?: string;
  readonly authorizationMode?: string;
  readonly disableAdmissionPlugins?: string;
  readonly enableAdmissionPlugins?: string;
  readonly clientCaFile?: string;
  readonly tokenAuthFile?: string;
}

const text = (brief: string) => ({ kind: "parsed", parse: String, brief, optional: true }) as const;

export const apiserver = buildCommand<ApiServerFlags>({
  docs: { brief: "Run the API server alone" },
  parameters: {
    flags: {
      port: {
        kind: "parsed",
        parse: wholeNumber(PORT),
        brief: "Port on loopback, 0 for a free one",
        default: "6443",
      },
      tokenFile: text("File with the bearer token of an administrator"),
      dataDir: text("Keep objects here: every acknowledged write survives"),
      kubeconfig: text("Where to write the kubeconfig"),
      authorizationMode: text("Such as RBAC,AlwaysAllow"),
      disableAdmissionPlugins: text("Admission plugins to leave out"),
      enableAdmissionPlugins: text("Admission plugins to add"),
      clientCaFile: text("Authorities of client certificates"),
      tokenAuthFile: text("Static tokens: token,user,uid,groups"),
    },
  },
  async func(flags) {
    const { runApiServer } = await import("@keelson/apiserver");
    process.exitCode = await runApiServer(flags);
  },
});
