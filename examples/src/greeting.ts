/** The smallest operator that runs something: a Greeting becomes a pod that says it over HTTP. */
import { controller, done, own, resource, waiting, z } from "keelson";
import { Pod } from "keelson/kinds";

export const Greeting = resource({
  group: "demo.keelson.dev",
  kind: "Greeting",
  version: "v1",
  spec: z.object({
    message: z.string().min(1).max(200).describe("What the pod says."),
    image: z.string().default("node:24").describe("An image with Node in it."),
  }),
  status: z.object({ address: z.string().optional().describe("Where the greeting is heard.") }),
  columns: { Message: ".spec.message", Address: ".status.address" },
});

const SERVER = `
  const server = require("node:http").createServer((_, answer) => answer.end(process.env.MESSAGE + "\\n"));
  server.listen(8080);
  process.on("SIGTERM", () => process.exit(0));
`;

export const greeting = controller(Greeting, {
  owns: { pod: own(Pod, { recreate: true }) },
  compose: (object, { pod }) => {
    const ready = pod?.status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
    const { message, image } = object.spec;
    return {
      children: {
        pod: {
          spec: {
            containers: [
              {
                name: "server",
                image,
                command: ["node", "-e", SERVER],
                env: [{ name: "MESSAGE", value: message }],
                ports: [{ containerPort: 8080 }],
                readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
              },
            ],
          },
        },
      },
      status: ready && pod?.status?.podIP ? { address: `${pod.status.podIP}:8080` } : {},
      outcome: ready ? done() : waiting("Starting", "the pod is starting"),
    };
  },
});
