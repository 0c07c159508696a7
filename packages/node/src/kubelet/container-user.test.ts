import type { Container, Pod } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { containerUser } from "./container-user.ts";

const accounts = {
  users: [
    { name: "root", uid: 0, gid: 0, home: "/root" },
    { name: "app", uid: 999, gid: 998, home: "/srv" },
  ],
  groups: [
    { name: "app", gid: 998, members: [] },
    { name: "disk", gid: 6, members: ["app"] },
  ],
};
const user = (
  imageUser: string,
  whole: NonNullable<Pod["spec"]>["securityContext"] = {},
  own: Container["securityContext"] = {},
) =>
  containerUser({
    pod: {
      metadata: { name: "p", namespace: "n", uid: "u" },
      spec: { containers: [], securityContext: whole },
    },
    container: { name: "c", securityContext: own },
    imageUser,
    accounts,
  });

describe("who a container runs as", () => {
  test.each([
    ["", { uid: 0, gid: 0, groups: [], home: "/root" }],
    ["app", { uid: 999, gid: 998, groups: [6], home: "/srv" }],
    ["999", { uid: 999, gid: 998, groups: [6], home: "/srv" }],
    ["1234", { uid: 1234, gid: 0, groups: [], home: "/" }],
    ["1234:77", { uid: 1234, gid: 77, groups: [], home: "/" }],
    ["app:disk", { uid: 999, gid: 6, groups: [], home: "/srv" }],
  ])("an image's user %j is %j", (imageUser, expected) => expect(user(imageUser)).toEqual(expected));

  test("the container's context wins over the pod's, and both over the image", () => {
    expect(user("app", { runAsUser: 5, runAsGroup: 6 }, { runAsUser: 7 })).toMatchObject({ uid: 7, gid: 6 });
  });

  test("the volumes' group and the supplemental ones are joined", () => {
    expect(user("", { fsGroup: 2000, supplementalGroups: [3000, 2000] }).groups).toEqual([2000, 3000]);
  });

  test("unknown names and forbidden roots are refused in words", () => {
    expect(() => user("ghost")).toThrow("unable to find user ghost");
    expect(() => user("", { runAsNonRoot: true })).toThrow("image will run as root");
    expect(() => user("app", { runAsNonRoot: true })).toThrow("non-numeric user (app)");
    expect(() => user("", { runAsNonRoot: true, runAsUser: 0 })).toThrow("breaks non-root policy");
    expect(user("999", { runAsNonRoot: true }).uid).toBe(999);
  });
});
