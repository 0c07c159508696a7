/** The services and endpoints of the cluster, as DNS, the service addresses and containers' variables need them. */
import type { Stored } from "@keelson/core";
import type { EndpointSlice, Service } from "@keelson/core/kinds";
import type { NodeApi } from "../api/api.ts";
import { follow } from "./follow.ts";

export type StoredService = Stored<Service>;
export type StoredSlice = Stored<EndpointSlice>;

/** One address behind a service. */
export interface Backend {
  readonly address: string;
  readonly ready: boolean;
  readonly hostname: string | undefined;
  readonly nodeName: string | undefined;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}

const serviceNameLabel = "kubernetes.io/service-name";

export class ServiceRegistry {
  readonly #services = new Map<string, StoredService>();
  readonly #slices = new Map<string, StoredSlice>();
  readonly #slicesOf = new Map<string, Set<string>>();
  readonly #listeners = new Set<() => void>();
  readonly #synced = { services: Promise.withResolvers<void>(), slices: Promise.withResolvers<void>() };

  /** Follows the API until `signal` aborts. */
  async run(api: NodeApi, signal: AbortSignal): Promise<void> {
    await Promise.all([
      follow(
        api.followServices(signal),
        this.#services,
        () => this.#changed(),
        this.#synced.services.resolve,
      ),
      follow(
        api.followEndpointSlices(signal),
        this.#slices,
        () => {
          this.#index();
          this.#changed();
        },
        this.#synced.slices.resolve,
      ),
    ]);
  }

  /** Resolves when the whole state has been seen once. */
  async synced(): Promise<void> {
    await Promise.all([this.#synced.services.promise, this.#synced.slices.promise]);
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  services(): StoredService[] {
    return [...this.#services.values()];
  }

  service(namespace: string, name: string): StoredService | undefined {
    return this.#services.get(`${namespace}/${name}`);
  }

  /** IPv4 addresses behind a service, ready or not, each once. */
  backends(namespace: string, name: string): Backend[] {
    const found = new Map<string, Backend>();
    for (const key of this.#slicesOf.get(`${namespace}/${name}`) ?? []) {
      const slice = this.#slices.get(key);
      if (slice === undefined || slice.addressType !== "IPv4") continue;
      const ports = (slice.ports ?? []).flatMap(({ name: portName, port, protocol }) =>
        port === undefined ? [] : [{ name: portName ?? "", port, protocol: protocol ?? "TCP" }],
      );
      for (const { addresses, conditions, hostname, nodeName } of slice.endpoints ?? []) {
        for (const address of addresses) {
          const known = found.get(address);
          found.set(address, {
            ...{ address, hostname, nodeName },
            ready: (known?.ready ?? false) || conditions?.ready !== false,
            ports: [...(known?.ports ?? []), ...ports],
          });
        }
      }
    }
    return [...found.values()];
  }

  /** The owner of an address: for names by address. */
  ownersOf(address: string): { service: StoredService; backend: Backend | undefined }[] {
    const owners: { service: StoredService; backend: Backend | undefined }[] = [];
    for (const service of this.#services.values()) {
      if (service.spec?.clusterIP === address) owners.push({ service, backend: undefined });
      if (service.spec?.clusterIP !== "None") continue;
      const backend = this.backends(service.metadata.namespace ?? "", service.metadata.name).find(
        (one) => one.address === address,
      );
      if (backend !== undefined) owners.push({ service, backend });
    }
    return owners;
  }

  #index(): void {
    this.#slicesOf.clear();
    for (const [key, slice] of this.#slices) {
      const name = slice.metadata.labels?.[serviceNameLabel];
      if (name === undefined) continue;
      const service = `${slice.metadata.namespace}/${name}`;
      const slices = this.#slicesOf.get(service) ?? new Set();
      slices.add(key);
      this.#slicesOf.set(service, slices);
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
