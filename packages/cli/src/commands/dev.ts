/** `keelson dev`: write an operator with a cluster beside it. */
import { buildCommand } from "@stricli/core";
import type { DevEvent } from "../dev/events.ts";
import { directory, directoryAlias } from "../directory.ts";
import { wholeNumber } from "../whole-number.ts";

interface DevFlags {
  readonly directory: string;
  readonly name?: string;
  readonly nodes?: number;
  readonly simulate: boolean;
  readonly apply?: string;
  readonly keep: boolean;
  readonly plain: boolean;
}

const text = (brief: string) => ({ kind: "parsed", parse: String, brief, optional: true }) as const;

export const dev = buildCommand<DevFlags>({
  docs: {
    brief: "Run the operator on an embedded cluster, reloaded at every save",
    fullDescription: [
      "Starts an embedded cluster, applies the operator's CRDs, serves its webhooks and",
      "shows resources, reconciles and type errors until q or Ctrl-C. Without a",
      "terminal it prints plain lines.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      directory,
      name: text("Name of the cluster. Default: the package's name"),
      nodes: {
        kind: "parsed",
        parse: wholeNumber({ min: 0, max: 100 }),
        brief: "Nodes that run pods. Default: 1",
        optional: true,
      },
      simulate: { kind: "boolean", brief: "Pods are simulated: Ready without a process", default: false },
      apply: text("Manifests to apply at the start and when one is saved, such as examples"),
      keep: { kind: "boolean", brief: "Leave the cluster up at the end", default: false },
      plain: { kind: "boolean", brief: "Print lines, at a terminal too", default: false },
    },
    aliases: directoryAlias,
  },
  async func({ directory, name, plain, ...flags }) {
    const [{ readProject }, { mainOf }, { startDev }, { checkManifests }, { join, resolve }] =
      await Promise.all([
        import("../project.ts"),
        import("../run/operator-process.ts"),
        import("../dev/dev.ts"),
        import("../dev/apply.ts"),
        import("node:path"),
      ]);
    const project = readProject(directory);
    mainOf(project);
    if (flags.apply !== undefined) checkManifests(flags.apply);
    const output = this.process.stdout as NodeJS.WriteStream;
    const live = !plain && output.isTTY && globalThis.process.stdin.isTTY;
    const show = live ? await liveView(output) : await plainLines(output);
    try {
      await using started = await startDev({
        ...flags,
        project,
        name: name ?? clusterNameOf(project.name),
        tell: show.tell,
      });
      const examples = join(project.directory, "examples");
      await show.untilEnd({
        reload: () => started.reload(),
        apply: () => void started.apply(resolve(flags.apply ?? examples)),
      });
      show.tell({ type: "progress", sentence: "stopping" });
    } finally {
      show.close();
    }
  },
});

/** A package may have a name that no cluster can have. */
function clusterNameOf(project: string): string {
  return (
    project
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .slice(0, 42)
      .replace(/^-|-$/g, "") || "dev"
  );
}

interface Keys {
  readonly reload: () => void;
  readonly apply: () => void;
}

interface Show {
  tell(event: DevEvent): void;
  /** Resolves when a person or a signal ends it. */
  untilEnd(keys: Keys): Promise<void>;
  close(): void;
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
}

async function plainLines(output: NodeJS.WriteStream): Promise<Show> {
  const { PlainLines } = await import("../dev/plain.ts");
  const lines = new PlainLines();
  const end = signalled();
  return {
    tell: (event) => {
      for (const line of lines.linesOf(event)) output.write(`${line}\n`);
    },
    untilEnd: () => end,
    close: () => {},
  };
}

/** How often times are counted on. */
const REDRAW_MS = 500;
/** In raw mode it is a key like any other. */
const CTRL_C = "\u0003";
const KEYS = "q quit   r reload   a apply examples";

async function liveView(output: NodeJS.WriteStream): Promise<Show> {
  const [{ Board }, { view }, { colours, noColours }, { openScreen }] = await Promise.all([
    import("../dev/board.ts"),
    import("../dev/view.ts"),
    import("../dev/paint.ts"),
    import("../dev/screen.ts"),
  ]);
  const board = new Board();
  const paint = process.env["NO_COLOR"] ? noColours : colours;
  const ended = Promise.withResolvers<void>();
  let keys: Keys = { reload: () => {}, apply: () => {} };
  let drawing: NodeJS.Immediate | undefined;
  const draw = () => {
    const { columns, rows } = screen;
    screen.draw(view(board, { columns, rows, now: Date.now(), paint, keys: KEYS }));
  };
  const screen = openScreen({
    output,
    input: process.stdin,
    onResize: draw,
    onKey: (key) => {
      if (key === "q" || key === CTRL_C) ended.resolve();
      else if (key === "r") keys.reload();
      else if (key === "a") keys.apply();
    },
  });
  const timer = setInterval(draw, REDRAW_MS);
  void signalled().then(ended.resolve);
  return {
    tell: (event) => {
      board.take(event, Date.now());
      drawing ??= setImmediate(() => {
        drawing = undefined;
        draw();
      });
    },
    untilEnd: (given) => {
      keys = given;
      return ended.promise;
    },
    close: () => {
      clearInterval(timer);
      if (drawing) clearImmediate(drawing);
      screen.close();
    },
  };
}
