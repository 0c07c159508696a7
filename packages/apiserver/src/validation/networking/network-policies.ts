/** Rules of network policies. */
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import { checkRange, networkOf, parseRange, rangeContains, rangeWarnings } from "../checks/addresses.ts";
import type { Errors } from "../checks/errors.ts";
import { portName, portNumber } from "../checks/formats.ts";
import { checkSelector } from "../checks/selectors.ts";
import { checking, checkingUpdate } from "../checks/strategies.ts";

const protocols = ["TCP", "UDP", "SCTP"];
const types = ["Ingress", "Egress"];

function checkPort(path: string, { protocol, port, endPort }: NetworkPolicyPort, errors: Errors): void {
  if (protocol !== undefined && !protocols.includes(protocol))
    errors.notSupported(`${path}.protocol`, protocol, protocols);
  const end = `${path}.endPort`;
  if (port === undefined) {
    if (endPort !== undefined)
      errors.invalid(end, endPort, "may not be specified when `port` is not specified");
  } else if (typeof port === "number") {
    errors.messages(`${path}.port`, port, portNumber(port));
    if (endPort === undefined) return;
    if (endPort < port) errors.invalid(end, port, "must be greater than or equal to `port`");
    errors.messages(end, endPort, portNumber(endPort));
  } else {
    if (endPort !== undefined)
      errors.invalid(end, endPort, "may not be specified when `port` is non-numeric");
    errors.messages(`${path}.port`, port, portName(port));
  }
}

function checkBlock(path: string, { cidr, except = [] }: IPBlock, known: readonly string[], errors: Errors) {
  if (!cidr) {
    errors.required(`${path}.cidr`);
    return;
  }
  checkRange(`${path}.cidr`, cidr, errors, known);
  const whole = parseRange(cidr);
  if (!whole) return;
  for (const [i, text] of except.entries()) {
    checkRange(`${path}.except[${i}]`, text, errors, known);
    const part = parseRange(text);
    if (part && (!rangeContains(whole, networkOf(part)) || whole.prefix >= part.prefix))
      errors.invalid(`${path}.except[${i}]`, text, "must be a strict subset of `cidr`");
  }
}

function checkPeer(path: string, peer: NetworkPolicyPeer, known: readonly string[], errors: Errors): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  checkSelector(`${path}.podSelector`, podSelector, errors);
  checkSelector(`${path}.namespaceSelector`, namespaceSelector, errors);
  if (ipBlock) checkBlock(`${path}.ipBlock`, ipBlock, known, errors);
  if (!podSelector && !namespaceSelector && !ipBlock) errors.required(path, "must specify a peer");
  else if (ipBlock && (podSelector || namespaceSelector))
    errors.forbidden(path, "may not specify both ipBlock and another peer");
}

function checkSpec(spec: NetworkPolicySpec, known: readonly string[], errors: Errors): void {
  checkSelector("spec.podSelector", spec.podSelector, errors);
  for (const { path, ports, peers } of directions(spec)) {
    for (const [i, port] of ports.entries()) checkPort(`${path.rule}.ports[${i}]`, port, errors);
    for (const [i, peer] of peers.entries()) checkPeer(`${path.peers}[${i}]`, peer, known, errors);
  }
  const { policyTypes = [] } = spec;
  if (policyTypes.length > types.length) {
    errors.invalid("spec.policyTypes", policyTypes, "may not specify more than two policyTypes");
    return;
  }
  for (const [i, type] of policyTypes.entries())
    if (!types.includes(type)) errors.notSupported(`spec.policyTypes[${i}]`, type, types);
}

/** All rules, incoming first, as pairs of ports and peers. */
function directions({ ingress = [], egress = [] }: NetworkPolicySpec) {
  return [
    ...ingress.map(({ ports = [], from = [] }, i) => {
      const rule = `spec.ingress[${i}]`;
      return { path: { rule, peers: `${rule}.from` }, ports, peers: from };
    }),
    ...egress.map(({ ports = [], to = [] }, i) => {
      const rule = `spec.egress[${i}]`;
      return { path: { rule, peers: `${rule}.to` }, ports, peers: to };
    }),
  ];
}

const specOf = (object: unknown): NetworkPolicySpec => (object as NetworkPolicy).spec ?? { podSelector: {} };

function rangesOf(spec: NetworkPolicySpec): string[] {
  return directions(spec).flatMap(({ peers }) =>
    peers.flatMap(({ ipBlock }) => (ipBlock ? [ipBlock.cidr, ...(ipBlock.except ?? [])] : [])),
  );
}

function warnings(object: ApiObject): string[] {
  return directions(specOf(object)).flatMap(({ path, peers }) =>
    peers.flatMap(({ ipBlock }, i) => {
      if (!ipBlock) return [];
      const at = `${path.peers}[${i}].ipBlock`;
      return [
        ...rangeWarnings(`${at}.cidr`, ipBlock.cidr),
        ...(ipBlock.except ?? []).flatMap((range, k) => rangeWarnings(`${at}.except[${k}]`, range)),
      ];
    }),
  );
}

export const networkPolicies: Strategy = {
  validate: checking((policy, errors) => checkSpec(specOf(policy), [], errors)),
  validateUpdate: checkingUpdate((policy, old, errors) =>
    checkSpec(specOf(policy), rangesOf(specOf(old)), errors),
  ),
  warningsOnCreate: warnings,
  warningsOnUpdate: warnings,
};
