import { expect, test } from "vitest";
import { hbaConf, postgresqlConf, withFloors } from "./configuration.ts";

test("a standby allows what its primary allows, until that has been lowered", () => {
  const asked = { max_connections: "50", work_mem: "8MB" };
  expect(withFloors(asked, { max_connections: "200", max_wal_senders: "16" })).toEqual({
    max_connections: "200",
    work_mem: "8MB",
  });
  expect(withFloors(asked, { max_connections: "50" })).toEqual(asked);
  expect(withFloors({}, { max_connections: "200" })).toEqual({ max_connections: "200" });
});

test("a setting that the agent relies on is not the user's", () => {
  const conf = postgresqlConf({
    name: "a",
    socketDirectory: "/s",
    parameters: { fsync: "off", synchronous_standby_names: "*", work_mem: "8MB" },
  });
  expect(conf).toContain("fsync = 'on'");
  expect(conf).toContain("work_mem = '8MB'");
  expect(conf).not.toContain("synchronous_standby_names");
});

test("closed, it lets in nobody but the instances", () => {
  const open = hbaConf({ tls: true, require: false, closed: false });
  expect(open).toContain("host all all all scram-sha-256");
  const closed = hbaConf({ tls: true, require: true, closed: true });
  expect(closed).toContain("hostssl all all all reject");
  expect(closed).toContain("hostssl replication keelson_replication all scram-sha-256");
});

test("the log keeps to a part of a small volume, and to what the user says", () => {
  const conf = (volumeBytes: number, parameters = {}) =>
    postgresqlConf({ name: "a", socketDirectory: "/run", parameters, volumeBytes });
  expect(conf(320 * 2 ** 20)).toContain("wal_keep_size = '32MB'\n");
  expect(conf(320 * 2 ** 20)).toContain("max_wal_size = '64MB'\n");
  expect(conf(2 ** 40)).toContain("wal_keep_size = '512MB'\n");
  expect(conf(320 * 2 ** 20, { wal_keep_size: "100MB" })).toContain("wal_keep_size = '100MB'\n");
});
