/** Passwords: authentication is enabled, or the password is changed. */
import { attempt, type DecisionTo, etcdOf, type StepContext, type StepResult } from "./step.ts";

/** Each part of it may have been done before: an answer may have been lost. */
export async function enableAuthentication(
  step: StepContext,
  { via, message }: DecisionTo<"enableAuthentication">,
): Promise<StepResult> {
  return await attempt(step, async (signal) => {
    await etcdOf(step, via).enableAuthentication({ signal });
    step.event("Normal", "AuthenticationEnabled", message);
  });
}

export async function changePassword(
  step: StepContext,
  { via, message }: DecisionTo<"changePassword">,
): Promise<StepResult> {
  const { password } = step.gathered.passwords?.current ?? {};
  if (password === undefined) return { refused: "the Secret has no password" };
  return await attempt(step, async (signal) => {
    await etcdOf(step, via).changePassword(password, { signal });
    step.event("Normal", "PasswordChanged", message);
  });
}
