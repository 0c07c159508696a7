// Lists with keys in services and pod templates.
import { apps, force, ns, strict, test } from "../_lib.mjs";
import { deploymentPath, fullDeployment, partialDeployment, podTemplate } from "./_builders.mjs";

const servicePath = `${ns}/services/s`;

const service = (spec, meta) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "s", ...meta },
  spec,
});

export default [
  test("Service apply: ports by port and protocol", (t) =>
    t
      .apply(servicePath, service({ ports: [{ port: 80 }] }), "a")
      .apply(servicePath, service({ ports: [{ port: 80, protocol: "TCP", name: "x" }] }), "b")
      .apply(servicePath, service({ ports: [{ port: 81, name: "y" }] }), "c")
      .apply(
        servicePath,
        service({
          ports: [
            { port: 80, name: "x" },
            { port: 81, name: "y" },
            { port: 53, protocol: "UDP", name: "z" },
          ],
        }),
        "a",
        force,
      )
      .apply(servicePath, service({ ports: [{ port: 53, protocol: "UDP", name: "z" }] }), "a")
      .apply(
        servicePath,
        service({
          selector: { a: "b" },
          type: "NodePort",
          ports: [{ port: 53, protocol: "UDP", name: "z" }],
        }),
        "a",
        { ignoreBody: true },
      )
      .apply(
        servicePath,
        service({ clusterIP: "None", ports: [{ port: 53, protocol: "UDP", name: "z" }] }),
        "a",
      )),
  test("Service apply: duplicate and invalid ports", (t) =>
    t
      .apply(
        servicePath,
        service({
          ports: [
            { port: 80, name: "a" },
            { port: 80, name: "b" },
          ],
        }),
        "a",
      )
      .apply(servicePath, service({ ports: [{ name: "a" }] }), "a")
      .apply(servicePath, service({ ports: [{ port: "http", name: "a" }] }), "a")
      .apply(servicePath, service({ ports: { port: 1 } }), "a")
      .apply(servicePath, service({ ports: [7] }), "a")
      .apply(servicePath, service({ ports: null }), "a")
      .apply(servicePath, service("x"), "a")
      .apply(servicePath, service({ ports: [{ port: 80.5 }] }), "a")
      .apply(servicePath, service({ selector: { a: 1 }, ports: [{ port: 80 }] }), "a")
      .apply(servicePath, service({ selector: ["a"], ports: [{ port: 80 }] }), "a")
      .apply(servicePath, service({ nope: 1, ports: [{ port: 80, wrong: 2 }] }), "a")
      .apply(servicePath, service({ nope: 1, ports: [{ port: 80, wrong: 2 }] }), "a", strict)
      .apply(servicePath, service({ nope: 1, ports: [{ port: 80 }] }), "a", {
        query: { fieldValidation: "Ignore" },
      })),
  test("Deployment apply: env, ports, mounts, volumes and tolerations of a pod template", (t) =>
    t
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [
              {
                name: "a",
                image: "x",
                env: [
                  { name: "A", value: "1" },
                  { name: "B", value: "2" },
                ],
                ports: [{ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }],
                volumeMounts: [{ name: "v", mountPath: "/a" }],
                args: ["1"],
              },
            ],
            volumes: [{ name: "v", emptyDir: {} }],
            tolerations: [{ key: "k", operator: "Exists" }],
            nodeSelector: { a: "b" },
            imagePullSecrets: [{ name: "s" }],
            hostAliases: [{ ip: "1.1.1.1", hostnames: ["a"] }],
            topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "DoNotSchedule" }],
          }),
        }),
        "a",
      )
      .apply(
        deploymentPath,
        partialDeployment({
          template: {
            spec: {
              containers: [{ name: "a", env: [{ name: "B", value: "3" }] }],
              nodeSelector: { a: "c" },
              tolerations: [],
            },
          },
        }),
        "b",
      )
      .apply(
        deploymentPath,
        partialDeployment({
          template: {
            spec: {
              containers: [
                {
                  name: "a",
                  env: [
                    { name: "B", value: "3" },
                    { name: "C", value: "4" },
                  ],
                  args: ["2"],
                },
                { name: "b", image: "y" },
              ],
              nodeSelector: { q: "c" },
            },
          },
        }),
        "b",
        force,
      )
      .apply(deploymentPath, partialDeployment({}), "b")
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [
              {
                name: "a",
                image: "x",
                env: [
                  { name: "B", value: "2" },
                  { name: "A", value: "1" },
                ],
              },
            ],
          }),
        }),
        "a",
      )),
  test("Deployment apply: duplicate environment variables", (t) =>
    t
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [
              {
                name: "a",
                image: "x",
                env: [
                  { name: "A", value: "1" },
                  { name: "A", value: "2" },
                ],
              },
            ],
          }),
        }),
        "a",
      )
      .post(
        `${apps}/deployments`,
        fullDeployment({
          template: podTemplate({
            containers: [
              {
                name: "a",
                image: "x",
                env: [
                  { name: "A", value: "1" },
                  { name: "A", value: "2" },
                ],
              },
            ],
          }),
        }),
      )
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [{ name: "a", image: "x", env: [{ name: "A", value: "1" }] }],
          }),
        }),
        "a",
      )
      .apply(
        deploymentPath,
        fullDeployment({ template: podTemplate({ containers: [{ name: "a", image: "y" }] }) }),
        "b",
        force,
      )
      .merge(deploymentPath, {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: "a",
                  image: "x",
                  env: [
                    { name: "A", value: "5" },
                    { name: "A", value: "2" },
                  ],
                },
              ],
            },
          },
        },
      })
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [{ name: "a", image: "x", env: [{ name: "A", value: "7" }] }],
          }),
        }),
        "a",
        force,
      )),
];
