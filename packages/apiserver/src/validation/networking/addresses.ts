/** Rules of service address ranges and of the addresses taken from them. */
import { validateDns1123Subdomain } from "@keelson/core";
import type { IPAddress, ParentReference, ServiceCIDR, ServiceCIDRSpec } from "@keelson/core/kinds";
import type { Strategy } from "../../contracts/strategy.ts";
import { pathSegmentName } from "../../registry/metadata.ts";
import { checkCanonicalAddress, checkCanonicalRange, parseRange } from "../checks/addresses.ts";
import { Errors } from "../checks/errors.ts";
import { immutable } from "../checks/formats.ts";
import { checkSegment } from "../checks/references.ts";
import { checkImmutable, checking, checkingUpdate } from "../checks/strategies.ts";

function checkParent(parent: ParentReference | undefined, errors: Errors): void {
  const path = "spec.parentRef";
  if (!parent) {
    errors.required(path);
    return;
  }
  const { group, resource, name, namespace } = parent;
  if (group) errors.messages(`${path}.group`, group, validateDns1123Subdomain(group));
  checkSegment(`${path}.resource`, resource, errors);
  checkSegment(`${path}.name`, name, errors);
  if (namespace) errors.messages(`${path}.namespace`, namespace, pathSegmentName(namespace, false));
}

export const ipAddresses: Strategy = {
  validateName(name) {
    const errors = new Errors();
    checkCanonicalAddress("", name, errors);
    return errors.list.map(({ detail }) => detail);
  },
  validate: checking<IPAddress>(({ spec }, errors) => checkParent(spec?.parentRef, errors)),
  validateUpdate: checkingUpdate<IPAddress>(({ spec }, old, errors) => {
    checkParent(spec?.parentRef, errors);
    checkImmutable("spec.parentRef", spec?.parentRef, old.spec?.parentRef, errors);
  }),
};

const path = "spec.cidrs";

function checkRanges(spec: ServiceCIDRSpec, errors: Errors): void {
  const { cidrs = [] } = spec;
  if (cidrs.length === 0) {
    errors.required(path, "at least one CIDR required");
    return;
  }
  if (cidrs.length > 2) {
    errors.invalid(path, { CIDRs: cidrs }, "may only hold up to 2 values");
    return;
  }
  for (const [i, range] of cidrs.entries()) checkCanonicalRange(`${path}[${i}]`, range, errors);
  const [first, second] = cidrs.map((range) => parseRange(range)?.address.family);
  if (cidrs.length === 2 && first === second && first !== undefined)
    errors.invalid(
      path,
      cidrs,
      "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
    );
}

export const serviceCidrs: Strategy = {
  validate: checking<ServiceCIDR>(({ spec = {} }, errors) => checkRanges(spec, errors)),
  validateUpdate: checkingUpdate<ServiceCIDR>(({ spec = {} }, old, errors) => {
    const { cidrs: now = [] } = spec;
    const before = old.spec?.cidrs ?? [];
    const grows = before.length === 1 && now.length === 2;
    if (!grows && before.length !== now.length) {
      errors.invalid(path, now, immutable);
      return;
    }
    for (const [i, range] of before.entries())
      if (range !== now[i]) errors.invalid(`${path}[${i}]`, now[i], immutable);
    if (grows) checkRanges(spec, errors);
  }),
};
