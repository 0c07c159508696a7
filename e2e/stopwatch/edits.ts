/** What a person writes to make a Memcached of a new project, and how many lines that is. */

/** One change of a file: a text that the scaffold wrote becomes another. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The scaffold runs nginx; a Memcached is another image, another port, its arguments and a probe. */
export const edits: readonly Edit[] = [
  {
    file: "src/memcached/api.ts",
    from: '    image: z.string().min(1).max(512).default("nginx:1.22").describe("The image that they run."),\n',
    to: `    image: z.string().min(1).max(512).default("memcached:1.6").describe("The image that they run."),
    memory: z.int().min(8).max(4096).default(64).describe("What each may keep, in mebibytes."),
`,
  },
  { file: "src/memcached/api.ts", from: ".default(80)", to: ".default(11211)" },
  {
    file: "src/memcached/controller.ts",
    from: `  const { image, port, replicas } = object.spec;
  const labels = labelsOf(object);
  const container = { name: "main", image, ports: [{ containerPort: port }] };
`,
    to: `  const { image, memory, port, replicas } = object.spec;
  const labels = labelsOf(object);
  const container = {
    name: "memcached",
    image,
    args: ["memcached", \`--port=\${port}\`, \`--memory-limit=\${memory}\`],
    ports: [{ containerPort: port }],
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
  };
`,
  },
];

/** The text after the edits of a file. Throws when the scaffold no longer has what they begin from. */
export function edited(file: string, text: string): string {
  return edits
    .filter((edit) => edit.file === file)
    .reduce((whole, { from, to }) => {
      if (!whole.includes(from)) throw new Error(`${file} has no ${JSON.stringify(from)} any more`);
      return whole.replace(from, () => to);
    }, text);
}

/** Lines of the one text that the other does not have. */
export function linesWritten(before: string, after: string): number {
  const old = new Map<string, number>();
  for (const line of before.split("\n")) old.set(line, (old.get(line) ?? 0) + 1);
  let written = 0;
  for (const line of after.split("\n")) {
    const left = old.get(line) ?? 0;
    if (left === 0) written++;
    else old.set(line, left - 1);
  }
  return written;
}
