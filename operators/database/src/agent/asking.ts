/** Asks several instances at once, and waits for no more of them than it has to. */
import type { Clock } from "./ports.ts";

/** How long those are waited for whose answer is not needed: one of them may have more. */
const patienceMs = 250;

/** The answers that came, until all did, or until those that came are enough and the others had a fair chance. */
export async function collect<T>(
  clock: Pick<Clock, "timer">,
  questions: readonly Promise<T>[],
  isEnough: (answers: readonly T[]) => boolean,
): Promise<T[]> {
  const answers: T[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let open = questions.length;
  const look = () => {
    if (open === 0) resolve();
    else if (isEnough(answers)) clock.timer(patienceMs, resolve);
  };
  for (const question of questions) {
    question
      .then((answer) => answers.push(answer))
      .catch(() => undefined)
      .finally(() => {
        open--;
        look();
      });
  }
  look();
  await promise;
  return [...answers];
}
