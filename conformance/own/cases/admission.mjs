// What admission decides: limits, quota, pod security, priorities, policies, webhooks.
import limitrangesEnforce from "./admission/limitranges-enforce.mjs";
import mutatingPoliciesEvaluate from "./admission/mutating-policies-evaluate.mjs";
import namespacesProtect from "./admission/namespaces-protect.mjs";
import podSecurityEnforce from "./admission/pod-security-enforce.mjs";
import podsDefault from "./admission/pods-default.mjs";
import resourcequotasEnforce from "./admission/resourcequotas-enforce.mjs";
import validatingPoliciesEvaluate from "./admission/validating-policies-evaluate.mjs";
import webhooksCall from "./admission/webhooks-call.mjs";

export default [
  ...limitrangesEnforce,
  ...resourcequotasEnforce,
  ...podSecurityEnforce,
  ...podsDefault,
  ...namespacesProtect,
  ...validatingPoliciesEvaluate,
  ...mutatingPoliciesEvaluate,
  ...webhooksCall,
];
