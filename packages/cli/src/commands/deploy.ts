/** `keelson deploy` and `keelson undeploy`: an operator into a cluster, and out of it again. */
import { buildCommand } from "@stricli/core";
import { ownNode } from "../build/own-node.ts";
import { directory, directoryAlias } from "../directory.ts";
import { progress } from "../progress.ts";
import { wholeNumber } from "../whole-number.ts";

interface Target {
  readonly directory: string;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

interface TargetFlags extends Target {
  readonly namespace?: string;
}

interface DeployFlags extends TargetFlags {
  readonly image?: string;
  readonly replicas?: number;
  readonly base: string;
  readonly build: boolean;
  readonly push: boolean;
  readonly timeout: number;
}

const text = (brief: string) => ({ kind: "parsed", parse: String, brief, optional: true }) as const;

const target = {
  directory,
  kubeconfig: text("Default: KUBECONFIG, else ~/.kube/config"),
  context: text("Needed for a cluster that is not on this machine"),
  namespace: text("Where it runs. Default: its name"),
} as const;

/** What both need, loaded when one of them runs. */
async function open({ directory, context, kubeconfig }: Target) {
  const [{ readProject, loadOperator }, { siteOf }, { inOrder, installationOf }, { openTarget }, actions] =
    await Promise.all([
      import("../project.ts"),
      import("../generate/project-site.ts"),
      import("../generate/manifests.ts"),
      import("../deploy/target.ts"),
      import("../deploy/deploy.ts"),
    ]);
  const project = readProject(directory);
  const parts = await loadOperator(project);
  const found = await openTarget({
    ...(context === undefined ? {} : { context }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  });
  return {
    ...{ project, parts, found, actions },
    siteOf: (options: Parameters<typeof siteOf>[2]) => siteOf(project, parts, options),
    manifestsOf: (site: ReturnType<typeof siteOf>) => inOrder(installationOf(parts, site), site.values),
    [Symbol.asyncDispose]: async () => await found[Symbol.asyncDispose](),
  };
}

export const deploy = buildCommand<DeployFlags>({
  docs: { brief: "Build an operator, bring it into a cluster and wait until it works" },
  parameters: {
    flags: {
      ...target,
      image: text("Its image. Default: as in values.yaml, else name:version"),
      replicas: {
        kind: "parsed",
        parse: wholeNumber({ min: 0, max: 100 }),
        brief: "One leads, the others stand by. Default: 2",
        optional: true,
      },
      base: { kind: "parsed", parse: String, brief: "An image with Node in it", default: ownNode },
      build: { kind: "boolean", brief: "Build the image; else the cluster has it already", default: true },
      push: {
        kind: "boolean",
        brief: "Push to the registry even for an embedded cluster",
        default: false,
        withNegated: false,
      },
      timeout: {
        kind: "parsed",
        parse: wholeNumber({ min: 1, max: 3600 }),
        brief: "Seconds until its replicas must be available",
        default: "120",
      },
    },
    aliases: directoryAlias,
  },
  async func({ base, build, context, directory, kubeconfig, push, timeout, ...options }) {
    const line = progress(this.process);
    try {
      await using opened = await open({ directory, context, kubeconfig });
      const { project, parts, found, actions } = opened;
      let site = opened.siteOf(options);
      if (build) {
        const { deliverImage } = await import("../deploy/deliver-image.ts");
        const how = found.embedded === undefined || push ? "push" : "load";
        const { repository } = site.values.image;
        const digest = await deliverImage(project, { image: site.image, base, how, onProgress: line.show });
        site = opened.siteOf({ ...options, image: `${repository}@${digest}` });
      }
      const manifests = opened.manifestsOf(site);
      await actions.deploy(found.client, { manifests, timeoutMs: timeout * 1000, onProgress: line.show });
      line.end();
      this.process.stdout.write(
        `${parts.name} ${project.version} works in ${site.namespace}, from ${site.image}.\n`,
      );
    } catch (error) {
      line.end();
      throw error;
    }
  },
});

export const undeploy = buildCommand<TargetFlags & { readonly crds: boolean }>({
  docs: { brief: "Take an operator out of a cluster; its CRDs and objects stay" },
  parameters: {
    flags: {
      ...target,
      crds: {
        kind: "boolean",
        brief: "Its CRDs and all objects of them go too",
        default: false,
        withNegated: false,
      },
    },
    aliases: directoryAlias,
  },
  async func({ context, crds, directory, kubeconfig, ...options }) {
    const line = progress(this.process);
    try {
      await using opened = await open({ directory, context, kubeconfig });
      const { parts, found, actions } = opened;
      const site = opened.siteOf(options);
      const manifests = opened.manifestsOf(site);
      const left = await actions.undeploy(found.client, { manifests, crds, onProgress: line.show });
      line.end();
      this.process.stdout.write(`${parts.name} is gone from ${site.namespace}.\n`);
      for (const each of left) this.process.stdout.write(`  left  ${each}\n`);
    } catch (error) {
      line.end();
      throw error;
    }
  },
});
