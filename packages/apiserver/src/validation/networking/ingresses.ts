/** Rules of ingresses and their classes. */
import { validateDns1123Label, validateDns1123Subdomain } from "@keelson/core";
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressClass,
  IngressClassParametersReference,
  IngressRule,
  IngressSpec,
} from "@keelson/core/kinds";
import type { Strategy } from "../../contracts/strategy.ts";
import { addressWarnings, checkAddress, parseAddress } from "../checks/addresses.ts";
import { Errors } from "../checks/errors.ts";
import { portName, portNumber, wildcardDomain } from "../checks/formats.ts";
import { checkDomainPath, checkTypedReference } from "../checks/references.ts";
import { checkImmutable, checking, checkingUpdate } from "../checks/strategies.ts";

const classAnnotation = "kubernetes.io/ingress.class";
const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
const notAnAddress = "must be a DNS name, not an IP address";

interface Rules {
  readonly anySecretName?: boolean;
  readonly anyWildcardRule?: boolean;
}

function checkSpec(spec: IngressSpec, rules: Rules, errors: Errors): void {
  const { rules: list = [], defaultBackend, tls = [], ingressClassName } = spec;
  if (list.length === 0 && !defaultBackend)
    errors.invalid("spec", spec.rules ?? null, "either `defaultBackend` or `rules` must be specified");
  if (defaultBackend) checkBackend("spec.defaultBackend", defaultBackend, errors);
  for (const [i, rule] of list.entries()) checkRule(`spec.rules[${i}]`, rule, rules, errors);
  for (const [i, { hosts = [], secretName }] of tls.entries()) {
    const path = `spec.tls[${i}]`;
    for (const [j, host] of hosts.entries()) checkHost(`${path}.hosts[${j}]`, host, errors);
    if (!rules.anySecretName && secretName)
      errors.messages(`${path}.secretName`, secretName, validateDns1123Subdomain(secretName));
  }
  if (ingressClassName !== undefined)
    errors.messages("spec.ingressClassName", ingressClassName, validateDns1123Subdomain(ingressClassName));
}

function checkHost(path: string, host: string, errors: Errors): void {
  const rule = host.includes("*") ? wildcardDomain : validateDns1123Subdomain;
  errors.messages(path, host, rule(host));
}

function checkRule(path: string, { host = "", http }: IngressRule, rules: Rules, errors: Errors): void {
  if (host) {
    if (parseAddress(host)) errors.invalid(`${path}.host`, host, notAnAddress);
    checkHost(`${path}.host`, host, errors);
  }
  if (!http || (rules.anyWildcardRule && host.includes("*"))) return;
  if (!http.paths?.length) errors.required(`${path}.http.paths`);
  for (const [i, one] of (http.paths ?? []).entries()) checkPath(`${path}.http.paths[${i}]`, one, errors);
}

function checkPath(at: string, { path = "", pathType, backend }: HTTPIngressPath, errors: Errors): void {
  if (!pathType && pathType !== "") {
    errors.required(`${at}.pathType`, "pathType must be specified");
    return;
  }
  const exact = pathType === "Exact" || pathType === "Prefix";
  if (!pathTypes.includes(pathType)) errors.notSupported(`${at}.pathType`, pathType, pathTypes);
  else if ((exact || path) && !path.startsWith("/"))
    errors.invalid(`${at}.path`, path, "must be an absolute path");
  if (exact) {
    for (const part of ["//", "/./", "/../", "%2f", "%2F"])
      if (path.includes(part)) errors.invalid(`${at}.path`, path, `must not contain '${part}'`);
    for (const end of ["/..", "/."])
      if (path.endsWith(end)) errors.invalid(`${at}.path`, path, `cannot end with '${end}'`);
  }
  checkBackend(`${at}.backend`, backend ?? {}, errors);
}

function checkBackend(path: string, { resource, service }: IngressBackend, errors: Errors): void {
  if (resource && service) errors.invalid(path, "", "cannot set both resource and service backends");
  else if (resource) checkTypedReference(`${path}.resource`, resource, errors);
  else if (service) {
    if (!service.name) errors.required(`${path}.service.name`);
    else errors.messages(`${path}.service.name`, service.name, validateDns1123Label(service.name));
    const { name, number } = service.port ?? {};
    if (name && number) errors.invalid(path, "", "cannot set both port name & port number");
    else if (name) errors.messages(`${path}.service.port.name`, name, portName(name));
    else if (number) errors.messages(`${path}.service.port.number`, number, portNumber(number));
    else errors.required(path, "port name or number is required");
  } else errors.invalid(path, "", "resource or service backend is required");
}

/** What an old object got away with stays allowed. */
function rulesFor({ spec = {} }: Ingress): Rules {
  return {
    anySecretName: !!spec.tls?.some(
      ({ secretName }) => secretName && validateDns1123Subdomain(secretName).length > 0,
    ),
    anyWildcardRule: !!spec.rules?.some(({ host, http }) => {
      if (!host?.includes("*")) return false;
      const errors = new Errors();
      checkRule("", http ? { http } : {}, {}, errors);
      return errors.list.length > 0;
    }),
  };
}

export const ingresses: Strategy = {
  validate: checking<Ingress>(({ metadata, spec = {} }, errors) => {
    checkSpec(spec, {}, errors);
    const annotation = metadata?.annotations?.[classAnnotation];
    const { ingressClassName } = spec;
    if (annotation !== undefined && ingressClassName !== undefined && annotation !== ingressClassName)
      errors.invalid(
        `annotations.${classAnnotation}`,
        annotation,
        "must match `ingressClassName` when both are specified",
      );
  }),
  validateUpdate: checkingUpdate<Ingress>((ingress, old, errors) =>
    checkSpec(ingress.spec ?? {}, rulesFor(old), errors),
  ),
  warningsOnCreate(object) {
    const { metadata, spec } = object as unknown as Ingress;
    if (metadata?.annotations?.[classAnnotation] === undefined || spec?.ingressClassName !== undefined)
      return [];
    return [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`];
  },
  subresources: {
    status: {
      validateUpdate: checkingUpdate<Ingress>(({ status }, old, errors) => {
        const known = old.status?.loadBalancer?.ingress?.map(({ ip }) => ip ?? "") ?? [];
        for (const [i, { ip, hostname }] of (status?.loadBalancer?.ingress ?? []).entries()) {
          const path = `status.loadBalancer.ingress[${i}]`;
          if (ip) checkAddress(`${path}.ip`, ip, errors, known);
          if (!hostname) continue;
          errors.messages(`${path}.hostname`, hostname, validateDns1123Subdomain(hostname));
          if (parseAddress(hostname)) errors.invalid(`${path}.hostname`, hostname, notAnAddress);
        }
      }),
      warningsOnUpdate: (object) =>
        ((object as unknown as Ingress).status?.loadBalancer?.ingress ?? []).flatMap(({ ip }, i) =>
          ip ? addressWarnings(`status.loadBalancer.ingress[${i}]`, ip) : [],
        ),
    },
  },
};

const scopes = ["Cluster", "Namespace"];
function checkParameters(path: string, parameters: IngressClassParametersReference, errors: Errors): void {
  checkTypedReference(path, parameters, errors);
  const { scope, namespace } = parameters;
  if (!scope && scope !== "") errors.required(`${path}.scope`);
  else if (!scopes.includes(scope)) errors.notSupported(`${path}.scope`, scope, scopes);
  else if (scope === "Cluster") {
    if (namespace !== undefined)
      errors.forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'");
  } else if (namespace === undefined)
    errors.required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'");
  else errors.messages(`${path}.namespace`, namespace, validateDns1123Label(namespace));
}

function checkClass({ spec = {} }: IngressClass, errors: Errors): void {
  const { controller = "", parameters } = spec;
  if (controller.length > 250) errors.tooLong("spec.controller", 250);
  checkDomainPath("spec.controller", controller, errors);
  if (parameters) checkParameters("spec.parameters", parameters, errors);
}

export const ingressClasses: Strategy = {
  validate: checking(checkClass),
  validateUpdate: checkingUpdate<IngressClass>((now, old, errors) => {
    checkImmutable("spec.controller", now.spec?.controller ?? "", old.spec?.controller ?? "", errors);
    checkClass(now, errors);
  }),
};
