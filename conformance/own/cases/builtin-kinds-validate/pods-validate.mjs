// Invalid pods.
import { ns, pod } from "../_lib.mjs";
import { createEach } from "./_builders.mjs";

const podWith = (spec) => pod("p", spec);

const containerWith = (c) => podWith({ containers: [{ name: "main", image: "a", ...c }] });

const volumesWith = (...volumes) => podWith({ volumes, containers: [{ name: "main", image: "a" }] });

export default [
  createEach("Pod create: invalid containers", `${ns}/pods`, [
    podWith({ containers: null }),
    podWith({ containers: [{}] }),
    containerWith({ name: "Upper" }),
    containerWith({ name: "a".repeat(64) }),
    containerWith({ image: "" }),
    containerWith({ image: " a" }),
    containerWith({ command: [], args: [] }),
    containerWith({ terminationMessagePath: "x", terminationMessagePolicy: "No" }),
    containerWith({ stdin: true, tty: true, workingDir: "rel" }),
    containerWith({ restartPolicy: "Always" }),
    podWith({ initContainers: [{ name: "main", image: "a" }], containers: [{ name: "main", image: "a" }] }),
    podWith({
      initContainers: [
        { name: "i", image: "a", restartPolicy: "Sometimes", livenessProbe: { exec: { command: ["x"] } } },
      ],
      containers: [{ name: "main", image: "a" }],
    }),
    podWith({
      initContainers: [
        {
          name: "i",
          image: "a",
          restartPolicy: "Always",
          livenessProbe: { exec: { command: ["x"] } },
          lifecycle: { postStart: { exec: { command: ["x"] } } },
        },
      ],
      containers: [{ name: "main", image: "a" }],
    }),
    podWith({ ephemeralContainers: [{ name: "e", image: "a" }], containers: [{ name: "main", image: "a" }] }),
  ]),
  createEach("Pod create: invalid ports, environment and mounts", `${ns}/pods`, [
    containerWith({ ports: [{ containerPort: 80 }, { containerPort: 80 }] }),
    containerWith({
      ports: [
        { containerPort: 80, name: "a" },
        { containerPort: 81, name: "a" },
      ],
    }),
    containerWith({ ports: [{ containerPort: 80, name: "UPPER_toolongname" }] }),
    containerWith({ ports: [{ containerPort: 80, protocol: "ICMP" }] }),
    containerWith({ ports: [{ containerPort: 80, hostPort: 99999 }] }),
    containerWith({ ports: [{}] }),
    containerWith({ ports: [{ containerPort: 80, hostIP: "x" }] }),
    podWith({
      hostNetwork: true,
      containers: [{ name: "main", image: "a", ports: [{ containerPort: 80, hostPort: 81 }] }],
    }),
    containerWith({ env: [{ name: "" }] }),
    containerWith({ env: [{ name: "a=b" }] }),
    containerWith({
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    }),
    containerWith({
      env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    }),
    containerWith({ env: [{ name: "A", valueFrom: {} }] }),
    containerWith({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.bogus" } } }] }),
    containerWith({ env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels['a']" } } }] }),
    containerWith({ env: [{ name: "A", valueFrom: { resourceFieldRef: { resource: "limits.bogus" } } }] }),
    containerWith({ env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "", key: "" } } }] }),
    containerWith({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "bad key" } } }] }),
    containerWith({
      env: [
        {
          name: "A",
          valueFrom: { fieldRef: { fieldPath: "metadata.name" }, secretKeyRef: { name: "s", key: "k" } },
        },
      ],
    }),
    containerWith({ envFrom: [{}] }),
    containerWith({ envFrom: [{ prefix: "a=", configMapRef: { name: "" } }] }),
    containerWith({ envFrom: [{ configMapRef: { name: "a" }, secretRef: { name: "b" } }] }),
    containerWith({ volumeMounts: [{ name: "", mountPath: "" }] }),
    containerWith({ volumeMounts: [{ name: "nope", mountPath: "/a", subPath: "../x" }] }),
  ]),
  createEach("Pod create: invalid probes and lifecycle hooks", `${ns}/pods`, [
    containerWith({ livenessProbe: {} }),
    containerWith({ livenessProbe: { httpGet: { port: 0, path: "" } } }),
    containerWith({ livenessProbe: { httpGet: { port: "named port too long" } } }),
    containerWith({
      livenessProbe: { httpGet: { port: 80, scheme: "FTP", httpHeaders: [{ name: "bad header" }] } },
    }),
    containerWith({ livenessProbe: { exec: { command: [] } } }),
    containerWith({ livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 1 } } }),
    containerWith({ livenessProbe: { grpc: { port: 0 } } }),
    containerWith({
      livenessProbe: {
        exec: { command: ["a"] },
        initialDelaySeconds: -1,
        timeoutSeconds: -1,
        periodSeconds: -1,
        successThreshold: -1,
        failureThreshold: -1,
      },
    }),
    containerWith({ livenessProbe: { exec: { command: ["a"] }, successThreshold: 2 } }),
    containerWith({
      readinessProbe: { exec: { command: ["a"] }, successThreshold: 2, terminationGracePeriodSeconds: 5 },
    }),
    containerWith({ startupProbe: { exec: { command: ["a"] }, successThreshold: 2 } }),
    containerWith({ livenessProbe: { exec: { command: ["a"] }, terminationGracePeriodSeconds: 0 } }),
    containerWith({ lifecycle: { preStop: {} } }),
    containerWith({ lifecycle: { preStop: { sleep: { seconds: -1 } } } }),
    containerWith({ lifecycle: { preStop: { sleep: { seconds: 100 } } } }),
    containerWith({ lifecycle: { postStart: { exec: { command: ["a"] }, httpGet: { port: 1 } } } }),
    containerWith({ lifecycle: { stopSignal: "SIGTERM" } }),
  ]),
  createEach("Pod create: invalid resources", `${ns}/pods`, [
    containerWith({ resources: { limits: { cpu: "-1" } } }),
    containerWith({ resources: { requests: { memory: "-1Mi" } } }),
    containerWith({ resources: { requests: { bogus: "1" } } }),
    containerWith({ resources: { limits: { "example.com/gpu": "1.5" } } }),
    containerWith({ resources: { requests: { "example.com/gpu": "1" } } }),
    containerWith({
      resources: { requests: { "example.com/gpu": "1" }, limits: { "example.com/gpu": "2" } },
    }),
    containerWith({ resources: { limits: { "hugepages-2Mi": "3Mi" } } }),
    containerWith({ resources: { limits: { "hugepages-2Mi": "4Mi" }, requests: { cpu: "1" } } }),
    containerWith({ resources: { requests: { "hugepages-2Mi": "2Mi" } } }),
    containerWith({ resources: { limits: { "kubernetes.io/x": "1" } } }),
    containerWith({ resources: { requests: { storage: "1Gi" } } }),
    containerWith({ resources: { requests: { cpu: "1" }, claims: [{ name: "none" }] } }),
    podWith({ overhead: { cpu: "1" }, containers: [{ name: "main", image: "a" }] }),
    podWith({
      resources: { limits: { cpu: "1" } },
      containers: [{ name: "main", image: "a", resources: { limits: { cpu: "2" } } }],
    }),
    containerWith({
      resizePolicy: [
        { resourceName: "cpu", restartPolicy: "Bogus" },
        { resourceName: "bogus", restartPolicy: "NotRequired" },
      ],
    }),
  ]),
  createEach("Pod create: invalid volumes", `${ns}/pods`, [
    volumesWith({ name: "v" }),
    volumesWith({}),
    volumesWith({ name: "Bad_Name", emptyDir: {} }),
    volumesWith({ name: "v", emptyDir: {} }, { name: "v", emptyDir: {} }),
    volumesWith({ name: "v", emptyDir: {}, hostPath: { path: "/a" } }),
    volumesWith({ name: "v", emptyDir: { sizeLimit: "-1" } }),
    volumesWith({ name: "v", emptyDir: { medium: "HugePages" } }),
    volumesWith({ name: "v", hostPath: { path: "" } }),
    volumesWith({ name: "v", hostPath: { path: "/a/../b", type: "Bogus" } }),
    volumesWith({ name: "v", configMap: {} }),
    volumesWith({
      name: "v",
      configMap: {
        name: "c",
        defaultMode: 999,
        items: [
          { key: "", path: "" },
          { key: "k", path: "/abs" },
          { key: "k", path: "../x", mode: -1 },
        ],
      },
    }),
    volumesWith({ name: "v", secret: { defaultMode: 2000 } }),
    volumesWith({ name: "v", persistentVolumeClaim: {} }),
    volumesWith({
      name: "v",
      downwardAPI: {
        items: [
          { path: "a" },
          {
            path: "b",
            fieldRef: { fieldPath: "metadata.name" },
            resourceFieldRef: { resource: "limits.cpu" },
          },
          { path: "c", resourceFieldRef: { resource: "limits.cpu" } },
          { path: "d", fieldRef: { fieldPath: "spec.nodeName" } },
        ],
      },
    }),
    volumesWith({ name: "v", projected: { sources: [{}] } }),
    volumesWith({
      name: "v",
      projected: {
        sources: [
          { serviceAccountToken: { path: "", expirationSeconds: 5 } },
          { secret: { name: "s" }, configMap: { name: "c" } },
        ],
      },
    }),
    volumesWith({ name: "v", nfs: { server: "", path: "rel" } }),
    volumesWith({ name: "v", csi: { driver: "" } }),
    volumesWith({ name: "v", ephemeral: {} }),
    volumesWith({ name: "v", ephemeral: { volumeClaimTemplate: { spec: {} } } }),
    volumesWith({ name: "v", iscsi: { targetPortal: "", iqn: "x", lun: 300 } }),
    volumesWith({ name: "v", image: { reference: "", pullPolicy: "No" } }),
  ]),
  createEach("Pod create: invalid scheduling, DNS and other fields", `${ns}/pods`, [
    podWith({ dnsPolicy: "Bogus" }),
    podWith({ dnsPolicy: "None" }),
    podWith({
      dnsConfig: {
        nameservers: ["1.1.1.1", "2", "3.3.3.3", "4.4.4.4"],
        searches: ["bad domain"],
        options: [{}],
      },
    }),
    podWith({ hostname: "Bad.Name", subdomain: "x_y" }),
    podWith({ hostAliases: [{ ip: "x", hostnames: ["bad host"] }] }),
    podWith({ nodeSelector: { "bad key!": "x" } }),
    podWith({
      tolerations: [
        { key: "bad key!", operator: "Bogus", effect: "Never" },
        { operator: "Exists", value: "x" },
        { key: "", operator: "Equal" },
        { key: "a", operator: "Exists", tolerationSeconds: 5 },
      ],
    }),
    podWith({
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } },
      },
    }),
    podWith({
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 0,
              preference: {
                matchExpressions: [
                  { key: "", operator: "In", values: [] },
                  { key: "a", operator: "Exists", values: ["b"] },
                  { key: "a", operator: "Gt", values: ["1", "2"] },
                ],
              },
            },
          ],
        },
      },
    }),
    podWith({
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { a: "b" } } }],
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 101,
              podAffinityTerm: {
                topologyKey: "",
                namespaces: ["Bad Ns"],
                labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
              },
            },
          ],
        },
      },
    }),
    podWith({
      topologySpreadConstraints: [
        { maxSkew: 0, topologyKey: "", whenUnsatisfiable: "x" },
        { maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "ScheduleAnyway", minDomains: 2 },
        { maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "ScheduleAnyway" },
      ],
    }),
    podWith({ schedulerName: "Bad Name" }),
    podWith({ priority: 5 }),
    podWith({ priorityClassName: "nobody" }),
    podWith({ activeDeadlineSeconds: 0 }),
    podWith({ terminationGracePeriodSeconds: -5 }),
    podWith({ imagePullSecrets: [{}] }),
    podWith({ readinessGates: [{ conditionType: "bad type" }] }),
    podWith({ runtimeClassName: "nothing-here" }),
    podWith({ os: { name: "beos" } }),
    podWith({ os: { name: "windows" }, hostPID: true, securityContext: { runAsUser: 1 } }),
    podWith({ hostPID: true, shareProcessNamespace: true }),
    podWith({ preemptionPolicy: "Never" }),
    podWith({ schedulingGates: [{ name: "" }, { name: "a" }, { name: "a" }] }),
    podWith({ serviceAccountName: "Bad Name" }),
    podWith({ nodeName: "Bad Node" }),
    podWith({ enableServiceLinks: false, setHostnameAsFQDN: true }),
    podWith({
      resourceClaims: [{ name: "a" }, { name: "a", resourceClaimName: "x", resourceClaimTemplateName: "y" }],
    }),
  ]),
  createEach("Pod create: invalid security contexts", `${ns}/pods`, [
    podWith({ securityContext: { runAsUser: -1, runAsGroup: -1, fsGroup: -1, supplementalGroups: [-1] } }),
    podWith({
      securityContext: {
        fsGroupChangePolicy: "Bogus",
        sysctls: [{ name: "bad name" }, { name: "a.b" }, { name: "a.b" }],
      },
    }),
    podWith({ securityContext: { seccompProfile: { type: "Bogus" } } }),
    podWith({ securityContext: { seccompProfile: { type: "Localhost" } } }),
    podWith({
      securityContext: {
        seccompProfile: { type: "RuntimeDefault", localhostProfile: "x" },
        appArmorProfile: { type: "Localhost", localhostProfile: " " },
      },
    }),
    containerWith({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
    containerWith({
      securityContext: { capabilities: { add: ["SYS_ADMIN"] }, allowPrivilegeEscalation: false },
    }),
    containerWith({ securityContext: { procMount: "Bogus" } }),
    containerWith({ securityContext: { procMount: "Unmasked" } }),
    containerWith({ securityContext: { runAsUser: -1, windowsOptions: { runAsUserName: "" } } }),
    podWith({ hostUsers: false, hostNetwork: true }),
    podWith({ securityContext: { supplementalGroupsPolicy: "No" } }),
  ]),
];
