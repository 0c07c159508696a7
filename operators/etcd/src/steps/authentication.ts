/** Passwords: etcd begins to ask for one, or learns another. */
import { attempt, type Doing, etcdOf, type Scene, type StepResult } from "./step.ts";

/** Each part of it may have been done before: the answer may have been lost. */
export async function enableAuthentication(
  scene: Scene,
  { via, message }: Doing<"enableAuthentication">,
): Promise<StepResult> {
  return await attempt(scene, async (signal) => {
    await etcdOf(scene, via).enableAuthentication({ signal });
    scene.tell("Normal", "AuthenticationEnabled", message);
  });
}

export async function changePassword(
  scene: Scene,
  { via, message }: Doing<"changePassword">,
): Promise<StepResult> {
  const { password } = scene.gathered.passwords?.current ?? {};
  if (password === undefined) return "refused";
  return await attempt(scene, async (signal) => {
    await etcdOf(scene, via).changePassword(password, { signal });
    scene.tell("Normal", "PasswordChanged", message);
  });
}
