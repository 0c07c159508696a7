/** Rules of the coordination group: leases. */
import { validateQualifiedName } from "@keelson/core";
import type { Lease } from "@keelson/core/kinds";
import type { Strategy } from "../contracts/strategy.ts";
import type { Errors } from "./checks/errors.ts";
import { notNegative } from "./checks/formats.ts";
import { checkedAlike } from "./checks/strategies.ts";

const strategies = ["OldestEmulationVersion"];

function checkStrategy(path: string, strategy: string, errors: Errors): void {
  if (strategy.includes("/")) errors.messages(`${path}.strategy`, strategy, validateQualifiedName(strategy));
  else if (!strategies.includes(strategy)) errors.notSupported(`${path}.strategy`, strategy, strategies);
}

/** The server ignores the fields of coordinated election unless that feature is on; it is off. */
export const leases: Strategy = {
  prepareForCreate(draft) {
    const { spec } = draft as unknown as Lease;
    delete spec?.strategy;
    delete spec?.preferredHolder;
  },
  prepareForUpdate(draft, old) {
    const { spec } = draft as unknown as Lease;
    const before = (old as unknown as Lease).spec;
    if (before?.strategy === undefined) delete spec?.strategy;
    if (before?.preferredHolder === undefined) delete spec?.preferredHolder;
  },
  ...checkedAlike<Lease>(({ spec = {} }, errors) => {
    const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } = spec;
    if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0)
      errors.invalid("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0");
    if (leaseTransitions !== undefined && leaseTransitions < 0)
      errors.invalid("spec.leaseTransitions", leaseTransitions, notNegative);
    if (strategy !== undefined) checkStrategy("spec.strategy", strategy, errors);
    if (preferredHolder && !strategy)
      errors.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined");
  }),
};
