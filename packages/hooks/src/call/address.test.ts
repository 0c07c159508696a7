import { describe, expect, test } from "vitest";
import { endpointOf, serviceOf, timeoutOf, urlOf } from "./address.ts";

describe("the address of a hook", () => {
  test("is its URL, or its Service and path", () => {
    const service = { name: "cats", namespace: "home" };
    expect(urlOf({ service, path: "/sync" }, "it").href).toBe("http://cats.home/sync");
    expect(urlOf({ service: { ...service, port: 8443, protocol: "https" }, path: "/s" }, "it").href).toBe(
      "https://cats.home:8443/s",
    );
    expect(urlOf({ url: "http://a.b/c", service, path: "/sync" }, "it").href).toBe("http://a.b/c");
  });

  test("names a Service where cluster DNS would", () => {
    const found = (url: string) => serviceOf(new URL(url));
    expect(found("http://cats.home/sync")).toEqual({ name: "cats", namespace: "home", port: 80 });
    expect(found("https://cats.home.svc.cluster.local/sync")).toMatchObject({ name: "cats", port: 443 });
    expect(found("http://127.0.0.1:8080/sync")).toBeUndefined();
    expect(found("http://localhost/sync")).toBeUndefined();
    expect(found("https://hooks.example.com/sync")).toBeUndefined();
  });

  test("has ten seconds unless it says otherwise, or nonsense", () => {
    expect(timeoutOf({}, "it")).toBe(10_000);
    expect(timeoutOf({ timeout: "2m" }, "it")).toBe(120_000);
    expect(timeoutOf({ timeout: "-1s" }, "it")).toBe(10_000);
  });

  test("finds the settings for its host, unless it has its own", () => {
    const one = { host: "Cats.home:443", caBundle: { inline: "pem" } };
    expect(endpointOf({}, new URL("https://cats.home/s"), [one])).toBe(one);
    expect(endpointOf({}, new URL("http://cats.home/s"), [one])).toEqual({});
    const own = { inline: "own" };
    expect(endpointOf({ caBundle: own }, new URL("https://cats.home/s"), [one]).caBundle).toBe(own);
  });
});
