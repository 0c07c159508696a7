/** What is run: the static web server of the operator books, and three etcd members. */

const web = { app: "web" };

export const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 1,
    selector: { matchLabels: web },
    template: {
      metadata: { labels: web },
      spec: {
        containers: [
          {
            name: "nginx",
            image: "nginx",
            ports: [{ containerPort: 80 }],
            readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 1 },
            // Traffic is led elsewhere before the server ends, here as in any cluster.
            lifecycle: { preStop: { sleep: { seconds: 1 } } },
          },
        ],
      },
    },
  },
};

export const webService = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { type: "NodePort", selector: web, ports: [{ port: 80 }] },
};

const etcd = { app: "etcd" };
const members = ["etcd-0", "etcd-1", "etcd-2"];

export const etcdService = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "etcd" },
  spec: {
    clusterIP: "None",
    publishNotReadyAddresses: true,
    selector: etcd,
    ports: [
      { name: "client", port: 2379 },
      { name: "peer", port: 2380 },
    ],
  },
};

export const etcdSet = (image: string) => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "etcd" },
  spec: {
    replicas: members.length,
    serviceName: "etcd",
    // Members wait for each other: one after the other, the first would never be ready.
    podManagementPolicy: "Parallel",
    selector: { matchLabels: etcd },
    template: {
      metadata: { labels: etcd },
      spec: {
        containers: [
          {
            name: "etcd",
            image,
            env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
            command: [
              "etcd",
              "--name=$(POD)",
              "--data-dir=/data/etcd",
              "--listen-peer-urls=http://0.0.0.0:2380",
              "--listen-client-urls=http://0.0.0.0:2379",
              "--advertise-client-urls=http://$(POD).etcd:2379",
              "--initial-advertise-peer-urls=http://$(POD).etcd:2380",
              `--initial-cluster=${members.map((name) => `${name}=http://${name}.etcd:2380`).join(",")}`,
            ],
            ports: [
              { name: "client", containerPort: 2379 },
              { name: "peer", containerPort: 2380 },
            ],
            readinessProbe: { httpGet: { path: "/health", port: "client" }, periodSeconds: 1 },
            volumeMounts: [{ name: "data", mountPath: "/data" }],
          },
        ],
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "64Mi" } } },
      },
    ],
  },
});
