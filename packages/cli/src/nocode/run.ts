/** `keelson run -f DIR`: the definitions of a folder, run by this process. */
import { connect } from "@keelson/client";
import { definitionHosts } from "@keelson/nocode";
import { operator } from "@keelson/runtime";
import { chooseTarget, type TargetChoice } from "../kubeconfig/target.ts";
import { checkAnswers } from "../run/preflight.ts";
import { applyFiles, type CheckedFiles, checkedFiles, familiesOf } from "./definitions.ts";

/** Runs until Ctrl-C, and gives the exit code. */
export async function runFiles(
  place: string,
  choice: TargetChoice,
  say: (sentence: string) => void,
): Promise<number> {
  const target = await chooseTarget(choice);
  const settings = {
    context: target.context,
    ...(choice.kubeconfig === undefined ? {} : { kubeconfig: choice.kubeconfig }),
  };
  const client = await connect(settings);
  let files: CheckedFiles;
  try {
    await checkAnswers(client, target);
    files = await checkedFiles(client, place);
    await applyFiles(client, files);
    say(`${namesOf(files)} of ${place} run against ${target.context} at ${target.server}; Ctrl-C ends it.`);
  } finally {
    await client.close();
  }
  const { definitions, hooks, plans } = files;
  const controllers = definitionHosts(familiesOf({ graphs: definitions, hooks, plans }));
  return await operator({ name: "nocode", controllers, client: settings }).run();
}

/** A graph by the kind that it makes, the others by their own names. */
function namesOf({ graphs: made, hooks, plans }: CheckedFiles): string {
  const named = [...hooks, ...plans].map(({ object }) => `${object.kind} ${object.metadata?.name}`);
  return [...made.map(({ kind }) => kind.kind), ...named].join(", ");
}
