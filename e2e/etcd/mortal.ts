/**
 * What an operator changes, told to the process that started it; and its death: told `7:before` or `7:after`, it dies with
 * the seventh change from then on as a power cut would end it.
 */
import { type Client, connect, createClient } from "@keelson/client";
import type { HttpPort } from "@keelson/core";

let changes = 0;
let death = { at: 0, when: "before" };
process.on("message", (told) => {
  const [after, when = "before"] = String(told).split(":");
  death = { at: changes + Number(after), when };
});

/** Counts a change, and dies with it when its time has come. */
export async function change<T>(what: string, make: () => Promise<T>): Promise<T> {
  const mine = ++changes;
  process.send?.(`${mine} ${what}`);
  const { at, when } = death;
  if (mine === at && when === "before") process.kill(process.pid, "SIGKILL");
  const made = await make();
  if (mine === at && when === "after") process.kill(process.pid, "SIGKILL");
  return made;
}

/** A client that tells of every change to Kubernetes. */
export async function toldClient(): Promise<Client> {
  const plain = await connect();
  const { http, namespace, fieldManager, clock, random } = plain;
  const port: HttpPort = {
    ...(http.upgrade && { upgrade: http.upgrade.bind(http) }),
    request: async (request) => {
      const { method, path } = request;
      // Events are told to people; nothing follows from them.
      const changing = method !== "GET" && !/\/(events|leases)\b/.test(path);
      const send = async () => await http.request(request);
      return changing ? await change(`${method} ${path.split("?")[0]}`, send) : await send();
    },
  };
  return createClient({ http: port, namespace, fieldManager, clock, random, onClose: () => plain.close() });
}

/** The same object, which tells of every call to one of these methods. */
export function told<T extends object>(
  target: T,
  options: { readonly of: string; readonly changing: readonly (string | symbol)[] },
): T {
  return new Proxy(target, {
    get(whole, name) {
      const value: unknown = Reflect.get(whole, name, whole);
      if (typeof value !== "function") return value;
      // Not a bound function: `await using` takes none.
      const call = (...args: unknown[]): unknown => Reflect.apply(value, whole, args);
      if (!options.changing.includes(name)) return call;
      return async (...args: unknown[]) =>
        await change(`${options.of} ${String(name)}`, async () => await call(...args));
    },
  });
}
