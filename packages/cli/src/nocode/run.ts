/** `keelson run -f DIR`: the definitions of a folder, run by this process. */
import { connect } from "@keelson/client";
import { graphs } from "@keelson/graphs";
import { operator } from "@keelson/runtime";
import { chooseTarget, type TargetChoice } from "../kubeconfig/target.ts";
import { checkAnswers } from "../run/preflight.ts";
import { applyFiles, checkedFiles } from "./definitions.ts";

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
  try {
    await checkAnswers(client, target);
    const files = await checkedFiles(client, place);
    await applyFiles(client, files);
    const kinds = files.graphs.map(({ kind }) => kind.kind).join(", ");
    say(`${kinds} of ${place} run against ${target.context} at ${target.server}; Ctrl-C ends it.`);
  } finally {
    await client.close();
  }
  return await operator({ name: "graphs", controllers: [graphs()], client: settings }).run();
}
