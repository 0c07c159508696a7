/** Probes and lifecycle hooks of containers. */
import type { Container, HTTPGetAction, Lifecycle, PodOS, Probe } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { headerName, notNegative, portName, portNumber } from "../checks/formats.ts";

export function checkPortNumberOrName(path: string, port: number | string | null, errors: Errors): void {
  port ??= 0;
  errors.messages(path, port, typeof port === "number" ? portNumber(port) : portName(port));
}

const schemes = ["HTTP", "HTTPS"];

function checkHttpGet(path: string, action: HTTPGetAction, errors: Errors): void {
  if (!action.path) errors.required(`${path}.path`);
  checkPortNumberOrName(`${path}.port`, action.port, errors);
  if (!schemes.includes(action.scheme ?? ""))
    errors.notSupported(`${path}.scheme`, action.scheme ?? "", schemes);
  for (const header of action.httpHeaders ?? [])
    errors.messages(`${path}.httpHeaders`, header.name, headerName(header.name));
}

type Handler = Pick<Probe, "exec" | "httpGet" | "tcpSocket" | "grpc"> & { sleep?: { seconds: number } };

function checkHandler(path: string, handler: Handler, grace: number | undefined, errors: Errors): void {
  let count = 0;
  const only = (field: string, check: () => void) => {
    if (count++ > 0) errors.forbidden(`${path}.${field}`, "may not specify more than 1 handler type");
    else check();
  };
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  if (exec)
    only("exec", () => {
      if (!exec.command?.length) errors.required(`${path}.exec.command`);
    });
  if (httpGet) only("httpGet", () => checkHttpGet(`${path}.httpGet`, httpGet, errors));
  if (tcpSocket)
    only("tcpSocket", () => checkPortNumberOrName(`${path}.tcpSocket.port`, tcpSocket.port, errors));
  if (grpc) only("grpc", () => checkPortNumberOrName(`${path}.grpc.port`, grpc.port, errors));
  if (sleep)
    only("sleep", () => {
      if (grace !== undefined && (sleep.seconds < 0 || sleep.seconds > grace))
        errors.invalid(
          `${path}.sleep`,
          sleep.seconds,
          `must be non-negative and less than terminationGracePeriodSeconds (${grace})`,
        );
    });
  if (count === 0) errors.required(path, "must specify a handler type");
}

const counts = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function checkProbe(path: string, probe: Probe, grace: number | undefined, errors: Errors): void {
  checkHandler(path, probe, grace, errors);
  for (const field of counts) {
    const value = probe[field] ?? 0;
    if (value < 0) errors.invalid(`${path}.${field}`, value, notNegative);
  }
  const period = probe.terminationGracePeriodSeconds;
  if (period !== undefined && period <= 0)
    errors.invalid(`${path}.terminationGracePeriodSeconds`, period, "must be greater than 0");
}

export function checkProbes(
  path: string,
  container: Container,
  grace: number | undefined,
  errors: Errors,
): void {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  if (livenessProbe) {
    checkProbe(`${path}.livenessProbe`, livenessProbe, grace, errors);
    checkSuccessOnce(`${path}.livenessProbe`, livenessProbe, errors);
  }
  if (readinessProbe) {
    checkProbe(`${path}.readinessProbe`, readinessProbe, grace, errors);
    if (readinessProbe.terminationGracePeriodSeconds !== undefined)
      errors.invalid(
        `${path}.readinessProbe.terminationGracePeriodSeconds`,
        readinessProbe.terminationGracePeriodSeconds,
        "must not be set for readinessProbes",
      );
  }
  if (startupProbe) {
    checkProbe(`${path}.startupProbe`, startupProbe, grace, errors);
    checkSuccessOnce(`${path}.startupProbe`, startupProbe, errors);
  }
}

function checkSuccessOnce(path: string, probe: Probe, errors: Errors): void {
  const threshold = probe.successThreshold ?? 0;
  if (threshold !== 1) errors.invalid(`${path}.successThreshold`, threshold, "must be 1");
}

const windowsSignals = ["SIGKILL", "SIGTERM"];
const linuxSignals = new Set([
  ..."ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
    .split(" ")
    .map((name) => `SIG${name}`),
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${i + 1}`),
]);

export function checkLifecycle(
  path: string,
  lifecycle: Lifecycle,
  grace: number | undefined,
  os: PodOS | undefined,
  errors: Errors,
): void {
  if (lifecycle.postStart) checkHandler(`${path}.postStart`, lifecycle.postStart, grace, errors);
  if (lifecycle.preStop) checkHandler(`${path}.preStop`, lifecycle.preStop, grace, errors);
  const signal = lifecycle.stopSignal;
  if (signal === undefined) return;
  if (!os) errors.forbidden(`${path}.stopSignal`, "may not be set for containers with empty `spec.os.name`");
  else if (os.name === "windows" && !windowsSignals.includes(signal))
    errors.notSupported(`${path}.stopSignal`, signal, windowsSignals);
  else if (os.name === "linux" && !linuxSignals.has(signal))
    errors.notSupported(`${path}.stopSignal`, signal, [...linuxSignals].sort());
}
