/** The admission plug-ins, in the order in which they run, and which of them are on. */
import type { AdmissionPlugin } from "../contracts/admission.ts";
import type { PluginContext, PluginFactory } from "../contracts/plugin.ts";
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from "./certificates.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
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

const offByDefault: ReadonlySet<string> = new Set(["OwnerReferencesPermissionEnforcement"]);

const named = (flag: string | undefined): ReadonlySet<string> =>
  new Set((flag ?? "").split(",").filter((name) => name !== ""));

export const admission: PluginFactory = (context) => {
  const on = named(context.flag("enable-admission-plugins"));
  const off = named(context.flag("disable-admission-plugins"));
  return {
    admission: reinvoking(
      plugins
        .map((make) => make(context))
        .filter(({ name }) => !off.has(name) && (on.has(name) || !offByDefault.has(name))),
    ),
  };
};
