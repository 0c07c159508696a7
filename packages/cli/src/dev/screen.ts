/** The terminal as a screen: what is drawn replaces what was, and keys are heard at once. */

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

/** Takes the terminal over until it is closed. */
export function openScreen(options: {
  readonly output: NodeJS.WriteStream;
  readonly input: NodeJS.ReadStream;
  readonly onKey: (key: string) => void;
  readonly onResize: () => void;
}): Screen {
  const { input, onKey, onResize, output } = options;
  // The other screen of the terminal, without a cursor: what was there before comes back at the end.
  output.write("\x1b[?1049h\x1b[?25l\x1b[2J");
  const heard = (data: Buffer | string) => {
    for (const key of String(data)) onKey(key);
  };
  input.setRawMode(true);
  input.resume();
  input.on("data", heard);
  let shown: readonly string[] = [];
  // A terminal that shrinks and grows moves its lines: nothing of what was drawn is where it was.
  const resized = () => {
    shown = [];
    output.write("\x1b[2J");
    onResize();
  };
  output.on("resize", resized);
  return {
    get columns() {
      return output.columns || 80;
    },
    get rows() {
      return output.rows || 24;
    },
    draw(lines) {
      const changed = lines.flatMap((line, index) =>
        shown[index] === line ? [] : [`\x1b[${index + 1};1H${line}\x1b[K`],
      );
      if (shown.length > lines.length) changed.push(`\x1b[${lines.length + 1};1H\x1b[J`);
      shown = lines;
      if (changed.length > 0) output.write(changed.join(""));
    },
    close() {
      input.off("data", heard);
      output.off("resize", resized);
      input.setRawMode(false);
      input.pause();
      output.write("\x1b[?25h\x1b[?1049l");
    },
  };
}
