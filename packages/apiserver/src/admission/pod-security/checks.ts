/** What the levels of pod security ask of a pod, version by version. */
import type { ObjectMeta } from "@keelson/core";
import type { Container, PodSpec, Probe, SecurityContext } from "@keelson/core/kinds";
import type { LevelVersion } from "./levels.ts";

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

interface Subject {
  readonly meta: ObjectMeta;
  readonly spec: PodSpec;
  /** Initial ones first, then the main ones, then those added later. */
  readonly containers: readonly Container[];
}

type Rule = (pod: Subject) => Violation | undefined;

interface Check {
  readonly id: string;
  readonly restricted?: boolean;
  /** Of the baseline; the stricter check says the same and more. */
  readonly replaces?: string;
  /** By the minor version from which each holds, in order. */
  readonly since: readonly (readonly [minor: number, rule: Rule])[];
}

const quoted = (items: Iterable<string>): string => [...items].map((item) => `"${item}"`).join(", ");
const sorted = (items: ReadonlySet<string>): string[] => [...items].sort();
const plural = (count: number, one: string, many: string): string => (count === 1 ? one : many);
const named = (names: readonly string[]): string =>
  `${plural(names.length, "container", "containers")} ${quoted(names)}`;

/** Names of containers of which `isBad`, asked with their security context. */
function bad(
  pod: Subject,
  isBad: (context: SecurityContext | undefined, container: Container) => boolean,
): string[] {
  return pod.containers.filter((one) => isBad(one.securityContext, one)).map(({ name }) => name);
}

/** `pod and container "a"`, for what both may set. */
function setters(podIsBad: boolean, containers: readonly string[]): string | undefined {
  const list = [...(podIsBad ? ["pod"] : []), ...(containers.length > 0 ? [named(containers)] : [])];
  return list.length > 0 ? list.join(" and ") : undefined;
}

const exceptOnWindows =
  (rule: Rule): Rule =>
  (pod) =>
    pod.spec.os?.name === "windows" ? undefined : rule(pod);

/** A pod with users of its own is root only within itself. */
const exceptWithOwnUsers =
  (rule: Rule): Rule =>
  (pod) =>
    pod.spec.hostUsers === false ? undefined : rule(pod);

const allowPrivilegeEscalation: Rule = (pod) => {
  const names = bad(pod, (context) => context?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  return {
    reason: "allowPrivilegeEscalation != false",
    detail: `${named(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
};

const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

const appArmor: Rule = (pod) => {
  const values = new Set<string>();
  const wrong = (profile: { type?: string } | undefined): boolean => {
    if (!profile || profile.type === "RuntimeDefault" || profile.type === "Localhost") return false;
    values.add(profile.type ?? "");
    return true;
  };
  const podIsBad = wrong(pod.spec.securityContext?.appArmorProfile);
  const names = bad(pod, (context) => wrong(context?.appArmorProfile));
  const annotations = Object.entries(pod.meta.annotations ?? {})
    .filter(
      ([key, value]) =>
        key.startsWith(appArmorPrefix) &&
        value !== "" &&
        value !== "runtime/default" &&
        !value.startsWith("localhost/"),
    )
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const list = [...sorted(values), ...annotations];
  const who = [
    setters(podIsBad, names),
    annotations.length > 0 && plural(annotations.length, "annotation", "annotations"),
  ]
    .filter(Boolean)
    .join(" and ");
  if (who === "") return undefined;
  return {
    reason: plural(list.length, "forbidden AppArmor profile", "forbidden AppArmor profiles"),
    detail: `${who} must not set AppArmor profile type to ${quoted(list)}`,
  };
};

const defaultCapabilities = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

/** Containers that add what they may not, and what that is. */
function addedBeyond(pod: Subject, allowed: ReadonlySet<string>): { names: string[]; added: Set<string> } {
  const added = new Set<string>();
  const names = bad(pod, (context) => {
    const beyond = (context?.capabilities?.add ?? []).filter((capability) => !allowed.has(capability));
    for (const capability of beyond) added.add(capability);
    return beyond.length > 0;
  });
  return { names, added };
}

const addedDetail = (names: readonly string[], added: ReadonlySet<string>): string =>
  `${named(names)} must not include ${quoted(sorted(added))} in securityContext.capabilities.add`;

const capabilitiesBaseline: Rule = (pod) => {
  const { names, added } = addedBeyond(pod, defaultCapabilities);
  if (names.length === 0) return undefined;
  return { reason: "non-default capabilities", detail: addedDetail(names, added) };
};

const bindOnly = new Set(["NET_BIND_SERVICE"]);

const capabilitiesRestricted: Rule = (pod) => {
  const keeping = bad(pod, (context) => !context?.capabilities?.drop?.includes("ALL"));
  const { names, added } = addedBeyond(pod, bindOnly);
  const details: string[] = [];
  if (keeping.length > 0)
    details.push(`${named(keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  if (names.length > 0) details.push(addedDetail(names, added));
  return details.length > 0 ? { reason: "unrestricted capabilities", detail: details.join("; ") } : undefined;
};

const hostNamespaces: Rule = ({ spec }) => {
  const used = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((field) => spec[field]);
  if (used.length === 0) return undefined;
  return { reason: "host namespaces", detail: used.map((field) => `${field}=true`).join(", ") };
};

const hostPathVolumes: Rule = ({ spec }) => {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return {
    reason: "hostPath volumes",
    detail: `${plural(names.length, "volume", "volumes")} ${quoted(names)}`,
  };
};

const hostPorts: Rule = (pod) => {
  const ports = new Set<string>();
  const names = bad(pod, (_, { ports: list = [] }) => {
    const used = list.filter(({ hostPort }) => hostPort);
    for (const { hostPort } of used) ports.add(String(hostPort));
    return used.length > 0;
  });
  if (names.length === 0) return undefined;
  return {
    reason: "hostPort",
    detail: `${named(names)} ${plural(names.length, "uses", "use")} ${plural(ports.size, "hostPort", "hostPorts")} ${sorted(ports).join(", ")}`,
  };
};

type Handler = Pick<Probe, "httpGet" | "tcpSocket"> | undefined;

const probeHosts: Rule = (pod) => {
  const hosts = new Set<string>();
  const look = (handler: Handler): boolean => {
    const given = [handler?.httpGet?.host, handler?.tcpSocket?.host].filter((host) => host);
    for (const host of given) hosts.add(host as string);
    return given.length > 0;
  };
  const names = bad(pod, (_, container) => {
    const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
    const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop];
    return handlers.map(look).includes(true);
  });
  if (names.length === 0) return undefined;
  const unique = sorted(new Set(names));
  return {
    reason: "probe or lifecycle host",
    detail: `${named(unique)} ${plural(unique.length, "uses", "use")} ${plural(hosts.size, "probe or lifecycle host", "probe or lifecycle hosts")} ${quoted(sorted(hosts))}`,
  };
};

const privileged: Rule = (pod) => {
  const names = bad(pod, (context) => context?.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: "privileged", detail: `${named(names)} must not set securityContext.privileged=true` };
};

const procMount: Rule = (pod) => {
  const types = new Set<string>();
  const names = bad(pod, (context) => {
    const type = context?.procMount;
    if (type === undefined || type === "Default") return false;
    types.add(type);
    return true;
  });
  if (names.length === 0) return undefined;
  return {
    reason: "procMount",
    detail: `${named(names)} must not set securityContext.procMount to ${quoted(sorted(types))}`,
  };
};

const harmlessVolumes = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

const restrictedVolumes: Rule = ({ spec }) => {
  const types = new Set<string>();
  const names: string[] = [];
  for (const { name, ...sources } of spec.volumes ?? []) {
    const used = Object.entries(sources)
      .filter(([, source]) => source !== undefined)
      .map(([type]) => type);
    if (used.some((type) => harmlessVolumes.has(type))) continue;
    names.push(name);
    types.add(used[0] ?? "unknown");
  }
  if (names.length === 0) return undefined;
  return {
    reason: "restricted volume types",
    detail: `${plural(names.length, "volume", "volumes")} ${quoted(names)} ${plural(names.length, "uses", "use")} ${plural(types.size, "restricted volume type", "restricted volume types")} ${quoted(sorted(types))}`,
  };
};

const runAsNonRoot: Rule = (pod) => {
  const own = pod.spec.securityContext?.runAsNonRoot;
  const reason = "runAsNonRoot != true";
  const who = setters(
    own === false,
    bad(pod, (context) => context?.runAsNonRoot === false),
  );
  if (who) return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  const silent = own ? [] : bad(pod, (context) => context?.runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${named(silent)} must set securityContext.runAsNonRoot=true` };
};

const runAsUser: Rule = (pod) => {
  const who = setters(
    pod.spec.securityContext?.runAsUser === 0,
    bad(pod, (context) => context?.runAsUser === 0),
  );
  return who ? { reason: "runAsUser=0", detail: `${who} must not set runAsUser=0` } : undefined;
};

const seLinux =
  (...allowed: readonly string[]): Rule =>
  (pod) => {
    const types = new Set<string>();
    let user = false;
    let role = false;
    const wrong = (options: SecurityContext["seLinuxOptions"]): boolean => {
      if (!options) return false;
      const unknown = !!options.type && !allowed.includes(options.type);
      if (unknown) types.add(options.type ?? "");
      user ||= !!options.user;
      role ||= !!options.role;
      return unknown || !!options.user || !!options.role;
    };
    const podIsBad = wrong(pod.spec.securityContext?.seLinuxOptions);
    const who = setters(
      podIsBad,
      bad(pod, (context) => wrong(context?.seLinuxOptions)),
    );
    if (!who) return undefined;
    const what = [
      types.size > 0 && `${plural(types.size, "type", "types")} ${quoted(sorted(types))}`,
      user && "user may not be set",
      role && "role may not be set",
    ].filter(Boolean);
    return {
      reason: "seLinuxOptions",
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join("; ")}`,
    };
  };

const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompContainer = "container.seccomp.security.alpha.kubernetes.io/";

const seccompAnnotations: Rule = ({ meta, containers }) => {
  const forbidden = new Set<string>();
  for (const key of [seccompPod, ...containers.map(({ name }) => `${seccompContainer}${name}`)]) {
    const value = meta.annotations?.[key];
    const valid =
      value === "runtime/default" || value === "docker/default" || value?.startsWith("localhost/");
    if (value !== undefined && !valid) forbidden.add(`${key}=${JSON.stringify(value)}`);
  }
  if (forbidden.size === 0) return undefined;
  return {
    reason: "seccompProfile",
    detail: `forbidden ${plural(forbidden.size, "annotation", "annotations")} ${sorted(forbidden).join(", ")}`,
  };
};

const seccomp =
  (required: boolean): Rule =>
  (pod) => {
    const values = new Set<string>();
    const wrong = (profile: { type?: string } | undefined): boolean => {
      if (!profile || profile.type === "RuntimeDefault" || profile.type === "Localhost") return false;
      values.add(profile.type ?? "");
      return true;
    };
    const own = pod.spec.securityContext?.seccompProfile;
    const podIsBad = wrong(own);
    const who = setters(
      podIsBad,
      bad(pod, (context) => wrong(context?.seccompProfile)),
    );
    const reason = "seccompProfile";
    if (who)
      return {
        reason,
        detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(sorted(values))}`,
      };
    const silent = !required || own ? [] : bad(pod, (context) => !context?.seccompProfile);
    if (silent.length === 0) return undefined;
    return {
      reason,
      detail: `pod or ${named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
    };
  };

const sysctls =
  (...allowed: readonly string[]): Rule =>
  ({ spec }) => {
    const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name);
    const forbidden = names.filter((name) => !allowed.includes(name));
    return forbidden.length > 0 ? { reason: "forbidden sysctls", detail: forbidden.join(", ") } : undefined;
  };

const sysctls0 = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
];
const sysctls27 = [...sysctls0, "net.ipv4.ip_local_reserved_ports"];
const sysctls29 = [
  ...sysctls27,
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
];
const sysctls32 = [...sysctls29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

const windowsHostProcess: Rule = (pod) => {
  const isHost = (context: Pick<SecurityContext, "windowsOptions"> | undefined) =>
    context?.windowsOptions?.hostProcess === true;
  const who = setters(isHost(pod.spec.securityContext), bad(pod, isHost));
  if (!who) return undefined;
  return {
    reason: "hostProcess",
    detail: `${who} must not set securityContext.windowsOptions.hostProcess=true`,
  };
};

const containerTypes = ["container_t", "container_init_t", "container_kvm_t"];

/** Those of the baseline first, each group by name: the order in which violations are told. */
const checks: readonly Check[] = [
  { id: "appArmorProfile", since: [[0, appArmor]] },
  { id: "capabilities_baseline", since: [[0, capabilitiesBaseline]] },
  { id: "hostNamespaces", since: [[0, hostNamespaces]] },
  { id: "hostPathVolumes", since: [[0, hostPathVolumes]] },
  { id: "hostPorts", since: [[0, hostPorts]] },
  { id: "hostProbesAndHostLifecycle", since: [[34, probeHosts]] },
  { id: "privileged", since: [[0, privileged]] },
  {
    id: "procMount",
    since: [
      [0, procMount],
      [35, exceptWithOwnUsers(procMount)],
    ],
  },
  {
    id: "seLinuxOptions",
    since: [
      [0, seLinux(...containerTypes)],
      [31, seLinux(...containerTypes, "container_engine_t")],
    ],
  },
  {
    id: "seccompProfile_baseline",
    since: [
      [0, seccompAnnotations],
      [19, seccomp(false)],
    ],
  },
  {
    id: "sysctls",
    since: [
      [0, sysctls(...sysctls0)],
      [27, sysctls(...sysctls27)],
      [29, sysctls(...sysctls29)],
      [32, sysctls(...sysctls32)],
    ],
  },
  { id: "windowsHostProcess", since: [[0, windowsHostProcess]] },
  {
    id: "allowPrivilegeEscalation",
    restricted: true,
    since: [
      [8, allowPrivilegeEscalation],
      [25, exceptOnWindows(allowPrivilegeEscalation)],
    ],
  },
  {
    id: "capabilities_restricted",
    restricted: true,
    replaces: "capabilities_baseline",
    since: [
      [22, capabilitiesRestricted],
      [25, exceptOnWindows(capabilitiesRestricted)],
    ],
  },
  { id: "procMount_restricted", restricted: true, replaces: "procMount", since: [[35, procMount]] },
  {
    id: "restrictedVolumes",
    restricted: true,
    replaces: "hostPathVolumes",
    since: [[0, restrictedVolumes]],
  },
  {
    id: "runAsNonRoot",
    restricted: true,
    since: [
      [0, runAsNonRoot],
      [35, exceptWithOwnUsers(runAsNonRoot)],
    ],
  },
  {
    id: "runAsUser",
    restricted: true,
    since: [
      [23, runAsUser],
      [35, exceptWithOwnUsers(runAsUser)],
    ],
  },
  {
    id: "seccompProfile_restricted",
    restricted: true,
    replaces: "seccompProfile_baseline",
    since: [
      [19, seccomp(true)],
      [25, exceptOnWindows(seccomp(true))],
    ],
  },
];

const inForce = new Map<string, readonly Rule[]>();

function rulesOf({ level, minor }: LevelVersion): readonly Rule[] {
  const key = `${level}:${minor}`;
  const known = inForce.get(key);
  if (known) return known;
  const active = checks.filter(
    ({ since, restricted }) => minor >= (since[0]?.[0] ?? 0) && (level === "restricted" || !restricted),
  );
  const replaced = new Set(active.map(({ replaces }) => replaces));
  const rules = active
    .filter(({ id }) => !replaced.has(id))
    .map(({ since }) => (since.findLast(([from]) => minor >= from) as readonly [number, Rule])[1]);
  inForce.set(key, rules);
  return rules;
}

export function violations(wanted: LevelVersion, meta: ObjectMeta, spec: PodSpec): Violation[] {
  if (wanted.level === "privileged") return [];
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...((spec.ephemeralContainers ?? []) as Container[]),
  ];
  const pod: Subject = { meta, spec, containers };
  const found: Violation[] = [];
  for (const rule of rulesOf(wanted)) {
    const violation = rule(pod);
    if (violation) found.push(violation);
  }
  return found;
}

/** All of them, with what is wrong in each. */
export function describe(found: readonly Violation[]): string {
  return found.map(({ reason, detail }) => (detail ? `${reason} (${detail})` : reason)).join(", ");
}
