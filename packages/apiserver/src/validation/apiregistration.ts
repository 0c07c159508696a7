/** Rules of APIServices. */
import { formatTime, validateDns1035Label, validateDns1123Subdomain } from "@keelson/core";
import { goQuote } from "@keelson/core/internal";
import type { APIService, APIServiceSpec } from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import { pathSegmentName } from "../registry/metadata.ts";
import type { Errors } from "./checks/errors.ts";
import { portNumber } from "./checks/formats.ts";
import { checkedAlike, checkingUpdate } from "./checks/strategies.ts";

function checkService(spec: APIServiceSpec, errors: Errors): void {
  const { service, caBundle = "", insecureSkipTLSVerify: insecure = false } = spec;
  if (!service) {
    const bytes = Buffer.from(caBundle, "base64").length;
    if (bytes > 0)
      errors.invalid("spec.caBundle", `${bytes} bytes`, "local APIServices may not have a caBundle");
    if (insecure)
      errors.invalid(
        "spec.insecureSkipTLSVerify",
        insecure,
        "local APIServices may not have insecureSkipTLSVerify",
      );
    return;
  }
  if (!service.namespace) errors.required("spec.service.namespace");
  if (!service.name) errors.required("spec.service.name");
  const port = service.port ?? 0;
  const wrong = portNumber(port);
  if (wrong.length > 0) errors.invalid("spec.service.port", port, `port is not valid: ${wrong.join(", ")}`);
  if (insecure && caBundle)
    errors.invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present");
}

const checks = checkedAlike<APIService>(({ metadata, spec }, errors) => {
  const given: Partial<APIServiceSpec> = spec ?? {};
  const { group = "", version = "", groupPriorityMinimum = 0, versionPriority = 0 } = given;
  const name = metadata?.name ?? "";
  const wanted = `${version}.${group}`;
  if (name && name !== wanted && pathSegmentName(name, false).length === 0)
    errors.invalid("metadata.name", name, `must be \`spec.version+"."+spec.group\`: ${goQuote(wanted)}`);
  if (!group && version !== "v1")
    errors.required("spec.group", "only v1 may have an empty group and it better be legacy kube");
  if (group) errors.messages("spec.group", group, validateDns1123Subdomain(group));
  errors.messages("spec.version", version, validateDns1035Label(version));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000)
    errors.invalid("spec.groupPriorityMinimum", groupPriorityMinimum, "must be positive and less than 20000");
  if (versionPriority <= 0 || versionPriority > 1000)
    errors.invalid("spec.versionPriority", versionPriority, "must be positive and less than 1000");
  checkService(given as APIServiceSpec, errors);
});

const states = ["True", "False", "Unknown"];

/** What says of an APIService without a service that the server answers itself. */
export function locallyAvailable(nowMs: number) {
  return {
    type: "Available",
    status: "True",
    lastTransitionTime: formatTime(nowMs),
    reason: "Local",
    message: "Local APIServices are always available",
  };
}

export const apiServices: Strategy = {
  ...checks,
  validateName: pathSegmentName,
  default(draft) {
    const { spec } = draft as unknown as APIService;
    if (spec?.service) spec.service.port ??= 443;
  },
  prepareForCreate(draft, { clock }) {
    const { spec } = draft as unknown as APIService;
    if (!spec?.service) draft.status = { conditions: [locallyAvailable(clock.now())] };
  },
  subresources: {
    status: {
      validateUpdate: checkingUpdate<APIService>(({ status }, _old, errors) => {
        for (const [i, condition] of (status?.conditions ?? []).entries())
          if (!states.includes(condition.status))
            errors.notSupported(`status.conditions[${i}].status`, condition.status, states);
      }),
    },
  },
};
