import { describe, expect, test } from "vitest";
import { formatImageReference, parseImageReference } from "./reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

describe("image references", () => {
  test.each([
    ["redis", "docker.io/library/redis:latest"],
    ["redis:7.0.15", "docker.io/library/redis:7.0.15"],
    ["bitnami/redis:7", "docker.io/bitnami/redis:7"],
    ["gcr.io/etcd-development/etcd:v3.4.23", "gcr.io/etcd-development/etcd:v3.4.23"],
    ["localhost:5000/app", "localhost:5000/app:latest"],
    ["localhost/app:1", "localhost/app:1"],
    ["index.docker.io/library/nginx:1", "docker.io/library/nginx:1"],
    [`redis@${digest}`, `docker.io/library/redis@${digest}`],
    [`redis:7@${digest}`, `docker.io/library/redis:7@${digest}`],
  ])("reads %s as %s", (text, full) => {
    expect(formatImageReference(parseImageReference(text))).toBe(full);
  });

  test.each(["", "Redis", "redis:", "redis@sha256:12", "a//b", "redis:ta g", "-a"])("refuses %j", (text) => {
    expect(() => parseImageReference(text)).toThrow("invalid reference format");
  });
});
