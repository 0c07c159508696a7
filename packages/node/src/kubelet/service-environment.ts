/** The variables by which a pod finds the services of its namespace, as since the days of links. */
import type { Service } from "@keelson/core/kinds";

/** Services without an address have none; names are upper case with underscores. */
export function serviceEnvironment(services: readonly Service[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const service of services) {
    const address = service.spec?.clusterIP;
    if (address === undefined || address === "" || address === "None") continue;
    const name = variableName(service.metadata?.name ?? "");
    const ports = service.spec?.ports ?? [];
    const first = ports[0];
    if (first === undefined) continue;
    const host = address.includes(":") ? `[${address}]` : address;
    env[`${name}_SERVICE_HOST`] = address;
    env[`${name}_SERVICE_PORT`] = String(first.port);
    for (const port of ports)
      if (port.name) env[`${name}_SERVICE_PORT_${variableName(port.name)}`] = String(port.port);
    env[`${name}_PORT`] = `${(first.protocol ?? "TCP").toLowerCase()}://${host}:${first.port}`;
    for (const port of ports) {
      const protocol = port.protocol ?? "TCP";
      const prefix = `${name}_PORT_${port.port}_${protocol}`;
      env[prefix] = `${protocol.toLowerCase()}://${host}:${port.port}`;
      env[`${prefix}_PROTO`] = protocol.toLowerCase();
      env[`${prefix}_PORT`] = String(port.port);
      env[`${prefix}_ADDR`] = address;
    }
  }
  return env;
}

function variableName(name: string): string {
  return name.toUpperCase().replaceAll("-", "_");
}
