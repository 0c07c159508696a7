// Builders that the cases of this folder share.
import { apps, cm, deployment, ns, silent } from "../_lib.mjs";

export const configMapPath = `${ns}/configmaps/c`;
export const deploymentPath = `${apps}/deployments/d`;

export const createConfigMap = (t) =>
  t.post(
    `${ns}/configmaps`,
    cm(
      "c",
      { a: "1", b: "2", "x.y": "3", "t.u": "4" },
      { labels: { l: "m" }, annotations: { n: "o", "x/y": "3" } },
    ),
    silent,
  );

export const createDeployment = (t, spec) =>
  t.post(
    `${apps}/deployments`,
    deployment("d", {
      template: {
        metadata: { labels: { app: "d" }, annotations: { q: "r" } },
        spec: {
          containers: [
            {
              name: "a",
              image: "x",
              env: [
                { name: "A", value: "1" },
                { name: "B", value: "2" },
              ],
              ports: [
                { containerPort: 80, name: "h" },
                { containerPort: 80, protocol: "UDP" },
              ],
              volumeMounts: [
                { name: "v", mountPath: "/v" },
                { name: "v", mountPath: "/w" },
              ],
              args: ["1", "2"],
            },
            { name: "b", image: "y" },
          ],
          volumes: [
            { name: "v", emptyDir: {} },
            { name: "w", configMap: { name: "q" } },
          ],
          tolerations: [{ key: "a", operator: "Exists" }],
          nodeSelector: { z: "1" },
          imagePullSecrets: [{ name: "s" }],
          hostAliases: [{ ip: "1.1.1.1", hostnames: ["a", "b"] }],
        },
      },
      ...spec,
    }),
    silent,
  );
