/** The admission plug-ins, in the order in which they run, and which of them are on. */
import type { AdmissionPlugin } from "../contracts/admission.ts";
import { FlagError, listOf } from "../contracts/flags.ts";
import type { PluginContext, PluginFactory } from "../contracts/plugin.ts";
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from "./certificates.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { ownerReferencesPermissionEnforcement } from "./owner-references.ts";
import {
  defaultTolerationSeconds,
  podTopologyLabels,
  runtimeClass,
  taintNodesByCondition,
} from "./pod-defaults.ts";
import { podResizeValidator } from "./pod-resize.ts";
import { podSecurity } from "./pod-security/index.ts";
import { mutatingAdmissionPolicy } from "./policies/mutating.ts";
import { validatingAdmissionPolicy } from "./policies/validating.ts";
import { priority } from "./priority.ts";
import { reinvoking } from "./reinvocation.ts";
import { resourceQuota } from "./resource-quota.ts";
import { serviceAccount } from "./service-account.ts";
import {
  defaultIngressClass,
  defaultStorageClass,
  persistentVolumeClaimResize,
  storageObjectInUseProtection,
} from "./storage.ts";
import { mutatingAdmissionWebhook, validatingAdmissionWebhook } from "./webhooks/index.ts";

const plugins: readonly ((context: PluginContext) => AdmissionPlugin)[] = [
  ({ store }) => namespaceLifecycle(store),
  ({ store }) => limitRanger(store),
  serviceAccount,
  nodeRestriction,
  () => taintNodesByCondition,
  ({ store }) => podSecurity(store),
  ({ store }) => priority(store),
  ({ flag }) => defaultTolerationSeconds(flag),
  ({ store }) => defaultStorageClass(store),
  () => storageObjectInUseProtection,
  ownerReferencesPermissionEnforcement,
  ({ store }) => persistentVolumeClaimResize(store),
  ({ store }) => runtimeClass(store),
  ({ authorizer }) => certificateApproval(authorizer),
  ({ authorizer }) => certificateSigning(authorizer),
  () => certificateSubjectRestriction,
  ({ store }) => defaultIngressClass(store),
  ({ store }) => podTopologyLabels(store),
  ({ store }) => podResizeValidator(store),
  mutatingAdmissionPolicy,
  mutatingAdmissionWebhook,
  validatingAdmissionPolicy,
  validatingAdmissionWebhook,
  resourceQuota,
];

const offByDefault: ReadonlySet<string> = new Set([
  "NodeRestriction",
  "OwnerReferencesPermissionEnforcement",
]);

/** What kube-apiserver has and this server does not: none of it is on, so all of it may be turned off. */
const absent: ReadonlySet<string> = new Set([
  "AlwaysAdmit",
  "AlwaysDeny",
  "AlwaysPullImages",
  "ClusterTrustBundleAttest",
  "DenyServiceExternalIPs",
  "EventRateLimit",
  "ExtendedResourceToleration",
  "ImagePolicyWebhook",
  "JobValidation",
  "LimitPodHardAntiAffinityTopology",
  "NamespaceAutoProvision",
  "NamespaceExists",
  "NodeDeclaredFeatureValidator",
  "PodGroupProtection",
  "PodGroupWorkloadExists",
  "PodNodeSelector",
  "PodTolerationRestriction",
]);

export const admission: PluginFactory = (context) => {
  const made = plugins.map((make) => make(context));
  const on = new Set(listOf(context.flag("enable-admission-plugins")));
  const off = new Set(listOf(context.flag("disable-admission-plugins")));
  checkNames(new Set(made.map(({ name }) => name)), on, off);
  return {
    admission: reinvoking(
      made.filter(({ name }) => !off.has(name) && (on.has(name) || !offByDefault.has(name))),
    ),
  };
};

function checkNames(there: ReadonlySet<string>, on: ReadonlySet<string>, off: ReadonlySet<string>): void {
  for (const name of on) {
    if (off.has(name))
      throw new FlagError(
        `${name} is in --enable-admission-plugins and in --disable-admission-plugins: it cannot be both`,
      );
    if (!there.has(name))
      throw new FlagError(
        `--enable-admission-plugins plugin ${JSON.stringify(name)} is ${absent.has(name) ? "not part of this server" : "unknown"}`,
      );
  }
  for (const name of off)
    if (!there.has(name) && !absent.has(name))
      throw new FlagError(`--disable-admission-plugins plugin ${JSON.stringify(name)} is unknown`);
}
