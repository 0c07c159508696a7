/** Which user and groups a container runs as: its security context, else the image's user, else root. */
import type { Container, Pod } from "@keelson/core/kinds";
import { locate } from "@keelson/images/internal";
import { NodeError } from "../errors.ts";
import type { ContainerUser } from "../runtime/container-runtime.ts";
import { readBounded } from "./bounded-file.ts";

const largestAccountFile = 1024 * 1024;

export interface Accounts {
  readonly users: readonly {
    readonly name: string;
    readonly uid: number;
    readonly gid: number;
    readonly home: string;
  }[];
  readonly groups: readonly {
    readonly name: string;
    readonly gid: number;
    readonly members: readonly string[];
  }[];
}

export interface UserInput {
  readonly pod: Pod;
  readonly container: Container;
  /** `user` of the image's configuration. */
  readonly imageUser: string;
  readonly accounts: Accounts;
}

/** The account files of an image; absent files mean that it has none. */
export async function readAccounts(rootfs: string): Promise<Accounts> {
  const lines = async (path: string) => {
    const place = await locate({ rootfs, mounts: [] }, path);
    const bytes = place === undefined ? undefined : await readBounded(place, largestAccountFile);
    return (bytes?.toString("utf8") ?? "")
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(":"));
  };
  const [users, groups] = await Promise.all([lines("etc/passwd"), lines("etc/group")]);
  return {
    users: users.map(([name = "", , uid, gid, , home = "/"]) => ({
      name,
      uid: Number(uid),
      gid: Number(gid),
      home,
    })),
    groups: groups.map(([name = "", , gid, members = ""]) => ({
      name,
      gid: Number(gid),
      members: members.split(",").filter(Boolean),
    })),
  };
}

/** Throws `ContainerConfig` when the policy forbids the user or the image does not know it. */
export function containerUser(input: UserInput): ContainerUser & { readonly home: string } {
  const { pod, container, accounts } = input;
  const whole = pod.spec?.securityContext ?? {};
  const own = container.securityContext ?? {};
  const [imageUser = "", imageGroup = ""] = input.imageUser.split(":");
  const runAsUser = own.runAsUser ?? whole.runAsUser;
  checkNonRoot(input, runAsUser, imageUser);
  const account = accounts.users.find((one) =>
    runAsUser !== undefined
      ? one.uid === runAsUser
      : /^\d+$/.test(imageUser)
        ? one.uid === Number(imageUser)
        : one.name === (imageUser || "root"),
  );
  const uid =
    runAsUser ?? (/^\d+$/.test(imageUser) ? Number(imageUser) : imageUser === "" ? 0 : account?.uid);
  if (uid === undefined) {
    throw new NodeError(
      "ContainerConfig",
      `unable to find user ${imageUser}: no matching entries in passwd file`,
    );
  }
  const namedGroup = /^\d+$/.test(imageGroup)
    ? Number(imageGroup)
    : accounts.groups.find(({ name }) => imageGroup !== "" && name === imageGroup)?.gid;
  const fromImage = runAsUser === undefined ? namedGroup : undefined;
  const gid = own.runAsGroup ?? whole.runAsGroup ?? fromImage ?? account?.gid ?? 0;
  const memberships =
    whole.supplementalGroupsPolicy === "Strict" || account === undefined
      ? []
      : accounts.groups.filter(({ members }) => members.includes(account.name)).map((group) => group.gid);
  const groups = [
    ...(whole.fsGroup === undefined ? [] : [whole.fsGroup]),
    ...(whole.supplementalGroups ?? []),
    ...memberships,
  ].filter((group) => group !== gid);
  return { uid, gid, groups: [...new Set(groups)], home: account?.home ?? "/" };
}

function checkNonRoot({ pod, container }: UserInput, runAsUser: number | undefined, imageUser: string): void {
  const demanded = container.securityContext?.runAsNonRoot ?? pod.spec?.securityContext?.runAsNonRoot;
  if (!demanded) return;
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const where = `(pod: ${JSON.stringify(`${name}_${namespace}(${uid})`)}, container: ${container.name})`;
  if (runAsUser !== undefined) {
    if (runAsUser !== 0) return;
    throw new NodeError("ContainerConfig", `container's runAsUser breaks non-root policy ${where}`);
  }
  if (imageUser === "" || Number(imageUser) === 0) {
    throw new NodeError("ContainerConfig", `container has runAsNonRoot and image will run as root ${where}`);
  }
  if (!/^\d+$/.test(imageUser)) {
    throw new NodeError(
      "ContainerConfig",
      `container has runAsNonRoot and image has non-numeric user (${imageUser}), cannot verify user is non-root ${where}`,
    );
  }
}
