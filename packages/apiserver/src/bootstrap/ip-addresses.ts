/** Keeps an IPAddress for every cluster address of a service, as the real server's allocator does. */
import { type Clock, formatTime, type Random } from "@keelson/core";
import type { Service } from "@keelson/core/kinds";
import type { ApiObject } from "../contracts/object.ts";
import type { Store } from "../storage/store.ts";
import type { Table } from "../storage/table.ts";
import { ownedByServer } from "./owners.ts";

const managedBy = "ipaddress.kubernetes.io/managed-by";
const allocator = "ipallocator.k8s.io";

export class ServiceAddressObjects {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #table: Table;

  constructor(parts: { store: Store; clock: Clock; random: Random }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#table = parts.store.table("networking.k8s.io/ipaddresses");
  }

  /** Begins with the services that are stored, and follows them. */
  start(): void {
    this.settle();
    this.#store.table("services").subscribe(({ type, object, previous }) => {
      const kept = type === "DELETED" ? [] : this.#keep(object);
      for (const address of previous ? addressesOf(previous) : []) {
        const found = kept.includes(address) ? undefined : this.#table.get(address);
        if (found && isOurs(found) && isParent(found, object)) this.#remove(found);
      }
    });
  }

  /** Makes and removes what is missing, as after writes that could not be kept. */
  settle(): void {
    const services = this.#store.table("services");
    const taken = new Set<string>();
    for (const service of services.range("")) for (const address of this.#keep(service)) taken.add(address);
    // What was left when the server ended between two writes.
    for (const object of this.#table.range(""))
      if (isOurs(object) && !taken.has(object.metadata.name)) this.#remove(object);
  }

  #keep(service: ApiObject): string[] {
    const addresses = addressesOf(service);
    for (const address of addresses) if (!this.#table.get(address)) this.#make(address, service);
    return addresses;
  }

  #make(address: string, { metadata: { namespace = "", name } }: ApiObject): void {
    const nowMs = this.#clock.now();
    const family = address.includes(":") ? "IPv6" : "IPv4";
    const labels = { "ipaddress.kubernetes.io/ip-family": family, [managedBy]: allocator };
    const { metadata, ...rest } = ownedByServer(
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "IPAddress",
        metadata: { name: address, labels },
        spec: { parentRef: { resource: "services", namespace, name } },
      },
      nowMs,
    );
    const identity = { uid: this.#random.uuid(), creationTimestamp: formatTime(nowMs), generation: 1 };
    this.#store.create(this.#table, address, { ...rest, metadata: { ...metadata, ...identity } });
  }

  #remove(object: ApiObject): void {
    this.#store.delete(this.#table, object.metadata.name, object);
  }
}

function addressesOf(service: ApiObject): string[] {
  const { clusterIP, clusterIPs } = (service as unknown as Service).spec ?? {};
  return (clusterIPs ?? (clusterIP ? [clusterIP] : [])).filter(
    (address) => address !== "" && address !== "None",
  );
}

function isOurs({ metadata }: ApiObject): boolean {
  return metadata.labels?.[managedBy] === allocator;
}

function isParent(address: ApiObject, { metadata }: ApiObject): boolean {
  const { parentRef } = (address.spec ?? {}) as { parentRef?: { namespace?: string; name?: string } };
  return parentRef?.name === metadata.name && parentRef?.namespace === metadata.namespace;
}
