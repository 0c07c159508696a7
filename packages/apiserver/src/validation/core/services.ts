/** Services: what a request may set, what the server gives. */
import { deepEqual, validateDns1123Label } from "@keelson/core";
import { validateGenerateName } from "@keelson/core/internal";
import type { Service, ServiceSpec } from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { PluginContext } from "../../contracts/plugin.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import { addressWarnings } from "../checks/addresses.ts";
import { Errors } from "../checks/errors.ts";
import { defaultServiceRange, ServiceAddresses } from "./service-addresses.ts";
import { allocate, settle } from "./service-allocation.ts";
import {
  checkLoadBalancerStatus,
  checkService,
  checkServiceUpdate,
  isExternal,
  needsClusterAddress,
  needsHealthCheck,
  needsNodePort,
  serviceWarnings,
} from "./service-rules.ts";

const of = (object: ApiObject): Service => object as unknown as Service;

/** Fields that belong to a type go with it, unless the client sets them. */
function dropTypeDependent(service: Service, old: Service): void {
  const spec = service.spec as ServiceSpec;
  const before = old.spec as ServiceSpec;
  if (needsClusterAddress(before) && !needsClusterAddress(spec)) {
    if (before.clusterIP === spec.clusterIP && deepEqual(before.clusterIPs, spec.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (deepEqual(before.ipFamilies, spec.ipFamilies)) delete spec.ipFamilies;
    if (before.ipFamilyPolicy === spec.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  if (needsNodePort(before) && !needsNodePort(spec)) {
    const known = new Set((before.ports ?? []).map(({ nodePort }) => nodePort ?? 0));
    if ((spec.ports ?? []).every(({ nodePort }) => !nodePort || known.has(nodePort)))
      for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (
    needsHealthCheck(before) &&
    !needsHealthCheck(spec) &&
    before.healthCheckNodePort === spec.healthCheckNodePort
  )
    delete spec.healthCheckNodePort;
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    if (before.allocateLoadBalancerNodePorts === spec.allocateLoadBalancerNodePorts)
      delete spec.allocateLoadBalancerNodePorts;
    if (before.loadBalancerClass === spec.loadBalancerClass) delete spec.loadBalancerClass;
  }
  if (isExternal(before) && !isExternal(spec) && before.externalTrafficPolicy === spec.externalTrafficPolicy)
    delete spec.externalTrafficPolicy;
  if (spec.type === "ExternalName" && before.internalTrafficPolicy === spec.internalTrafficPolicy)
    delete spec.internalTrafficPolicy;
  if (spec.type !== "LoadBalancer" && service.status)
    service.status = { ...service.status, loadBalancer: {} };
}

export function services(context: PluginContext): Strategy {
  const addresses = new ServiceAddresses({
    store: context.store,
    random: context.random.fork("service-addresses"),
    ranges: context.flag("service-cluster-ip-range") ?? defaultServiceRange,
    nodePorts: context.flag("service-node-port-range") ?? "30000-32767",
  });
  /** What the client itself asked for, so that only what we chose is chosen again. */
  const asked = new WeakMap<ApiObject, ServiceSpec>();
  return {
    validateName: (name, prefix) =>
      prefix ? validateGenerateName(name, validateDns1123Label) : validateDns1123Label(name),
    prepareForCreate(draft, { dryRun }) {
      const { clusterIPs, clusterIP } = of(draft).spec ?? {};
      asked.set(draft, { clusterIPs: clusterIPs ?? (clusterIP ? [clusterIP] : []) });
      allocate(addresses, of(draft), undefined, dryRun);
    },
    prepareForUpdate(draft, old, { dryRun }) {
      allocate(addresses, of(draft), of(old), dryRun);
      dropTypeDependent(of(draft), of(old));
    },
    validate(object) {
      const errors = new Errors();
      checkService(of(object), undefined, errors);
      return errors.list;
    },
    validateUpdate(object, old) {
      const errors = new Errors();
      checkServiceUpdate(of(object), of(old), errors);
      return errors.list;
    },
    warningsOnCreate: (object) => serviceWarnings(of(object)),
    warningsOnUpdate: (object) => serviceWarnings(of(object)),
    beforeCommit(draft, old, { dryRun }) {
      if (!dryRun) settle(addresses, of(draft), old ? of(old).spec : asked.get(draft));
    },
    subresources: {
      status: {
        validateUpdate(object, old) {
          const errors = new Errors();
          checkLoadBalancerStatus(of(object), of(old), errors);
          return errors.list;
        },
        warningsOnUpdate: (object) =>
          (of(object).status?.loadBalancer?.ingress ?? []).flatMap(({ ip }, i) =>
            ip ? addressWarnings(`status.loadBalancer.ingress[${i}]`, ip) : [],
          ),
      },
    },
  };
}
