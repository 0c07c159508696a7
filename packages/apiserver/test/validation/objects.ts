/** A valid object of every kind that operators and kubectl touch, with as many fields set as it may have. */

type Json = Record<string, unknown>;
const meta = (name: string, extra: Json = {}): Json => ({ name, ...extra });
const sel = {
  matchLabels: { app: "a" },
  matchExpressions: [{ key: "tier", operator: "In", values: ["x", "y"] }],
};
const container = {
  name: "c",
  image: "nginx:1.2",
  command: ["a"],
  args: ["b"],
  workingDir: "/w",
  ports: [{ name: "http", containerPort: 80, protocol: "TCP", hostPort: 0 }, { containerPort: 81 }],
  env: [
    { name: "A", value: "1" },
    { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "C", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } },
    { name: "D", valueFrom: { configMapKeyRef: { name: "s", key: "k" } } },
    {
      name: "E",
      valueFrom: { resourceFieldRef: { containerName: "c", resource: "limits.cpu", divisor: "1m" } },
    },
  ],
  envFrom: [{ prefix: "P_", configMapRef: { name: "cm" } }, { secretRef: { name: "x" } }],
  resources: {
    requests: { cpu: "100m", memory: "64Mi" },
    limits: { cpu: "200m", memory: "128Mi", "example.com/gpu": "1" },
  },
  volumeMounts: [
    { name: "data", mountPath: "/data", subPath: "x", readOnly: true },
    { name: "cfg", mountPath: "/cfg", mountPropagation: "HostToContainer" },
  ],
  livenessProbe: {
    httpGet: { path: "/h", port: 80, scheme: "HTTP", httpHeaders: [{ name: "X-A", value: "b" }] },
    initialDelaySeconds: 1,
    timeoutSeconds: 2,
    periodSeconds: 3,
    successThreshold: 1,
    failureThreshold: 4,
  },
  readinessProbe: { tcpSocket: { port: "http" }, successThreshold: 2 },
  startupProbe: { exec: { command: ["x"] } },
  lifecycle: { postStart: { exec: { command: ["y"] } }, preStop: { sleep: { seconds: 3 } } },
  terminationMessagePath: "/t",
  terminationMessagePolicy: "File",
  imagePullPolicy: "IfNotPresent",
  securityContext: {
    runAsUser: 1000,
    runAsGroup: 1000,
    runAsNonRoot: true,
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  },
  resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
};
const podSpec = {
  containers: [container, { name: "d", image: "busybox" }],
  initContainers: [
    {
      name: "i",
      image: "busybox",
      restartPolicy: "Always",
      livenessProbe: { grpc: { port: 9090, service: "s" } },
    },
    { name: "j", image: "b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
  ],
  volumes: [
    { name: "data", emptyDir: { medium: "Memory", sizeLimit: "1Gi" } },
    { name: "cfg", configMap: { name: "cm", defaultMode: 420, items: [{ key: "k", path: "p", mode: 256 }] } },
    { name: "sec", secret: { secretName: "s", optional: true } },
    { name: "hp", hostPath: { path: "/x", type: "Directory" } },
    { name: "pvc", persistentVolumeClaim: { claimName: "c" } },
    {
      name: "proj",
      projected: {
        sources: [
          { serviceAccountToken: { path: "tok", expirationSeconds: 3600, audience: "a" } },
          { configMap: { name: "x" } },
          { secret: { name: "y" } },
          { downwardAPI: { items: [{ path: "l", fieldRef: { fieldPath: "metadata.labels" } }] } },
        ],
      },
    },
    { name: "dw", downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.annotations" } }] } },
    { name: "nfs", nfs: { server: "h", path: "/p" } },
    { name: "csi", csi: { driver: "d.example.com", volumeAttributes: { a: "b" } } },
    {
      name: "eph",
      ephemeral: {
        volumeClaimTemplate: {
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      },
    },
    {
      name: "iscsi",
      iscsi: { targetPortal: "1.2.3.4:3260", iqn: "iqn.2001-04.com.example:storage", lun: 0 },
    },
  ],
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 10,
  dnsPolicy: "ClusterFirst",
  nodeSelector: { "kubernetes.io/os": "linux" },
  serviceAccountName: "default",
  automountServiceAccountToken: true,
  securityContext: {
    runAsUser: 1,
    fsGroup: 2,
    supplementalGroups: [3],
    sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }],
    fsGroupChangePolicy: "Always",
    seccompProfile: { type: "Localhost", localhostProfile: "x" },
  },
  imagePullSecrets: [{ name: "reg" }],
  hostname: "h",
  subdomain: "s",
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] }],
      },
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] } },
      ],
    },
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "zone", labelSelector: sel, namespaces: ["x"] },
      ],
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: { topologyKey: "host", labelSelector: sel, matchLabelKeys: ["rev"] },
        },
      ],
    },
  },
  schedulerName: "s",
  tolerations: [
    { key: "k", operator: "Equal", value: "v", effect: "NoExecute", tolerationSeconds: 5 },
    { operator: "Exists" },
  ],
  hostAliases: [{ ip: "1.2.3.4", hostnames: ["a.b"] }],
  dnsConfig: { nameservers: ["1.1.1.1"], searches: ["a.b"], options: [{ name: "ndots", value: "2" }] },
  readinessGates: [{ conditionType: "example.com/x" }],
  enableServiceLinks: true,
  shareProcessNamespace: true,
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: sel,
      minDomains: 2,
      nodeAffinityPolicy: "Honor",
    },
  ],
  os: { name: "linux" },
  schedulingGates: [{ name: "example.com/g" }],
  activeDeadlineSeconds: 100,
  priorityClassName: "",
};
const simplePod: Json = { containers: [{ name: "c", image: "nginx" }] };
const tmpl = (spec: Json = simplePod, extra: Json = {}): Json => ({
  metadata: { labels: { app: "a", tier: "x" } },
  spec: { ...spec, ...extra },
});
/** Where each is created, and the object; `CSR` stands for a signing request. */
export const objects: readonly (readonly [path: string, object: Json])[] = [
  [
    "/api/v1/namespaces/shapes/pods",
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: meta("p", { labels: { a: "b" }, annotations: { x: "y" } }),
      spec: podSpec,
    },
  ],
  [
    "/api/v1/namespaces/shapes/pods",
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: meta("p2"),
      spec: {
        containers: [
          {
            name: "c",
            image: "a/b:latest",
            livenessProbe: { httpGet: { port: 1 } },
            resources: { limits: { cpu: "1" } },
          },
        ],
        hostNetwork: true,
        nodeName: "n1",
        restartPolicy: "Never",
        hostPID: true,
      },
    },
  ],
  [
    "/api/v1/namespaces/shapes/podtemplates",
    { apiVersion: "v1", kind: "PodTemplate", metadata: meta("pt"), template: tmpl() },
  ],
  [
    "/api/v1/namespaces/shapes/replicationcontrollers",
    {
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: meta("rc"),
      spec: { replicas: 2, minReadySeconds: 1, selector: { app: "a" }, template: tmpl() },
    },
  ],
  [
    "/api/v1/namespaces/shapes/services",
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("svc"),
      spec: {
        type: "ClusterIP",
        selector: { a: "b" },
        ports: [
          { name: "a", port: 80, targetPort: 8080, protocol: "TCP", appProtocol: "http" },
          { name: "b", port: 81, targetPort: "name" },
        ],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 } },
        externalIPs: ["1.2.3.4"],
        publishNotReadyAddresses: true,
        internalTrafficPolicy: "Cluster",
        ipFamilyPolicy: "SingleStack",
        ipFamilies: ["IPv4"],
        trafficDistribution: "PreferClose",
      },
    },
  ],
  [
    "/api/v1/namespaces/shapes/services",
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("svc2"),
      spec: {
        type: "LoadBalancer",
        selector: { a: "b" },
        ports: [{ port: 80 }],
        externalTrafficPolicy: "Local",
        loadBalancerSourceRanges: ["10.0.0.0/8"],
        loadBalancerIP: "1.2.3.4",
        loadBalancerClass: "a/b",
        allocateLoadBalancerNodePorts: false,
      },
    },
  ],
  [
    "/api/v1/namespaces/shapes/services",
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("svc3"),
      spec: { type: "ExternalName", externalName: "a.example.com" },
    },
  ],
  [
    "/api/v1/namespaces/shapes/services",
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("svc4"),
      spec: { clusterIP: "None", selector: { a: "b" }, ports: [{ port: 80 }] },
    },
  ],
  [
    "/api/v1/namespaces/shapes/services",
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("svc5"),
      spec: { type: "NodePort", selector: { a: "b" }, ports: [{ port: 80, nodePort: 30080 }] },
    },
  ],
  [
    "/api/v1/namespaces/shapes/configmaps",
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: meta("cm"),
      data: { a: "b" },
      binaryData: { c: "aGk=" },
      immutable: true,
    },
  ],
  [
    "/api/v1/namespaces/shapes/secrets",
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: meta("s"),
      type: "Opaque",
      data: { a: "aGk=" },
      stringData: { b: "c" },
    },
  ],
  [
    "/api/v1/namespaces/shapes/secrets",
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: meta("s2"),
      type: "kubernetes.io/tls",
      data: { "tls.crt": "aGk=", "tls.key": "aGk=" },
    },
  ],
  [
    "/api/v1/namespaces/shapes/secrets",
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: meta("s3"),
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": "e30=" },
    },
  ],
  [
    "/api/v1/namespaces/shapes/secrets",
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: meta("s4"),
      type: "kubernetes.io/basic-auth",
      data: { username: "aGk=" },
    },
  ],
  [
    "/api/v1/namespaces/shapes/secrets",
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: meta("s5", { annotations: { "kubernetes.io/service-account.name": "default" } }),
      type: "kubernetes.io/service-account-token",
    },
  ],
  [
    "/api/v1/namespaces/shapes/serviceaccounts",
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: meta("sa"),
      secrets: [{ name: "x" }],
      imagePullSecrets: [{ name: "y" }],
      automountServiceAccountToken: false,
    },
  ],
  [
    "/api/v1/namespaces/shapes/persistentvolumeclaims",
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: meta("pvc"),
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "sc",
        resources: { requests: { storage: "1Gi" }, limits: { storage: "2Gi" } },
        volumeMode: "Filesystem",
        selector: sel,
        volumeName: "pv",
        dataSource: { kind: "PersistentVolumeClaim", name: "o" },
      },
    },
  ],
  [
    "/api/v1/persistentvolumes",
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: meta("pv"),
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: "Retain",
        storageClassName: "sc",
        volumeMode: "Filesystem",
        mountOptions: ["ro"],
        csi: {
          driver: "d",
          volumeHandle: "h",
          fsType: "ext4",
          nodePublishSecretRef: { name: "n", namespace: "ns" },
        },
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }] },
        },
        claimRef: { namespace: "shapes", name: "x" },
      },
    },
  ],
  [
    "/api/v1/persistentvolumes",
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: meta("pv2"),
      spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteMany"], hostPath: { path: "/tmp" } },
    },
  ],
  [
    "/api/v1/persistentvolumes",
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: meta("pv3"),
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteMany"],
        local: { path: "/tmp" },
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }] },
        },
      },
    },
  ],
  [
    "/api/v1/namespaces",
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: meta("nsx", { labels: { a: "b" } }),
      spec: { finalizers: ["example.com/f"] },
    },
  ],
  [
    "/api/v1/nodes",
    {
      apiVersion: "v1",
      kind: "Node",
      metadata: meta("n", { labels: { a: "b" } }),
      spec: {
        podCIDR: "10.1.0.0/24",
        podCIDRs: ["10.1.0.0/24"],
        providerID: "x://y",
        unschedulable: true,
        taints: [{ key: "a", value: "b", effect: "NoSchedule" }],
      },
      status: { capacity: { cpu: "1", memory: "1Gi" }, allocatable: { cpu: "1" } },
    },
  ],
  [
    "/api/v1/namespaces/shapes/limitranges",
    {
      apiVersion: "v1",
      kind: "LimitRange",
      metadata: meta("lr"),
      spec: {
        limits: [
          {
            type: "Container",
            max: { cpu: "2" },
            min: { cpu: "100m" },
            default: { cpu: "1" },
            defaultRequest: { cpu: "200m" },
            maxLimitRequestRatio: { cpu: "10" },
          },
          { type: "Pod", max: { memory: "1Gi" } },
          { type: "PersistentVolumeClaim", min: { storage: "1Gi" } },
        ],
      },
    },
  ],
  [
    "/api/v1/namespaces/shapes/resourcequotas",
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: meta("rq"),
      spec: {
        hard: { pods: "10", "requests.cpu": "1", "count/deployments.apps": "2" },
        scopes: ["NotTerminating"],
        scopeSelector: {
          matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }],
        },
      },
    },
  ],
  [
    "/api/v1/namespaces/shapes/endpoints",
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: meta("ep"),
      subsets: [
        {
          addresses: [{ ip: "1.2.3.4", hostname: "h", nodeName: "n" }],
          notReadyAddresses: [{ ip: "1.2.3.5" }],
          ports: [
            { name: "a", port: 80, protocol: "TCP" },
            { name: "b", port: 81 },
          ],
        },
      ],
    },
  ],
  [
    "/api/v1/namespaces/shapes/events",
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: meta("ev"),
      involvedObject: { kind: "Pod", namespace: "shapes", name: "p" },
      reason: "r",
      message: "m",
      type: "Normal",
      count: 1,
      source: { component: "c" },
      firstTimestamp: "2024-01-01T00:00:00Z",
      lastTimestamp: "2024-01-01T00:00:00Z",
    },
  ],
  [
    "/apis/events.k8s.io/v1/namespaces/shapes/events",
    {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: meta("ev2"),
      regarding: { kind: "Pod", namespace: "shapes", name: "p" },
      reason: "r",
      note: "m",
      type: "Normal",
      eventTime: "2024-01-01T00:00:00.000000Z",
      reportingController: "example.com/c",
      reportingInstance: "i",
      action: "a",
      series: { count: 2, lastObservedTime: "2024-01-01T00:00:00.000000Z" },
    },
  ],
  [
    "/apis/apps/v1/namespaces/shapes/deployments",
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: meta("d"),
      spec: {
        replicas: 2,
        selector: sel,
        template: tmpl(),
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 1 } },
        minReadySeconds: 1,
        revisionHistoryLimit: 2,
        paused: true,
        progressDeadlineSeconds: 100,
      },
    },
  ],
  [
    "/apis/apps/v1/namespaces/shapes/replicasets",
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: meta("rs"),
      spec: { replicas: 2, selector: sel, template: tmpl(), minReadySeconds: 1 },
    },
  ],
  [
    "/apis/apps/v1/namespaces/shapes/daemonsets",
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: meta("ds"),
      spec: {
        selector: sel,
        template: tmpl(),
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%", maxSurge: 0 } },
        minReadySeconds: 1,
        revisionHistoryLimit: 3,
      },
    },
  ],
  [
    "/apis/apps/v1/namespaces/shapes/statefulsets",
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: meta("ss"),
      spec: {
        replicas: 2,
        serviceName: "svc",
        selector: sel,
        template: tmpl(),
        podManagementPolicy: "Parallel",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1, maxUnavailable: 1 } },
        minReadySeconds: 1,
        revisionHistoryLimit: 3,
        ordinals: { start: 1 },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      },
    },
  ],
  [
    "/apis/apps/v1/namespaces/shapes/controllerrevisions",
    { apiVersion: "apps/v1", kind: "ControllerRevision", metadata: meta("cr"), data: { a: 1 }, revision: 1 },
  ],
  [
    "/apis/batch/v1/namespaces/shapes/jobs",
    {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: meta("j"),
      spec: {
        parallelism: 2,
        completions: 3,
        completionMode: "Indexed",
        backoffLimit: 4,
        backoffLimitPerIndex: 1,
        maxFailedIndexes: 2,
        activeDeadlineSeconds: 100,
        ttlSecondsAfterFinished: 10,
        suspend: true,
        podReplacementPolicy: "Failed",
        podFailurePolicy: {
          rules: [
            { action: "FailJob", onExitCodes: { containerName: "c", operator: "In", values: [1, 2] } },
            { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
          ],
        },
        successPolicy: { rules: [{ succeededIndexes: "0-1", succeededCount: 1 }] },
        template: tmpl(simplePod, { restartPolicy: "Never" }),
      },
    },
  ],
  [
    "/apis/batch/v1/namespaces/shapes/jobs",
    {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: meta("j2"),
      spec: { template: tmpl(simplePod, { restartPolicy: "OnFailure" }) },
    },
  ],
  [
    "/apis/batch/v1/namespaces/shapes/cronjobs",
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: meta("cj"),
      spec: {
        schedule: "*/5 * * * *",
        timeZone: "Europe/Berlin",
        concurrencyPolicy: "Forbid",
        startingDeadlineSeconds: 10,
        suspend: false,
        successfulJobsHistoryLimit: 1,
        failedJobsHistoryLimit: 2,
        jobTemplate: {
          metadata: { labels: { a: "b" } },
          spec: { template: tmpl(simplePod, { restartPolicy: "OnFailure" }) },
        },
      },
    },
  ],
  [
    "/apis/policy/v1/namespaces/shapes/poddisruptionbudgets",
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: meta("pdb"),
      spec: { minAvailable: "50%", selector: sel, unhealthyPodEvictionPolicy: "AlwaysAllow" },
    },
  ],
  [
    "/apis/coordination.k8s.io/v1/namespaces/shapes/leases",
    {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: meta("l"),
      spec: {
        holderIdentity: "h",
        leaseDurationSeconds: 10,
        acquireTime: "2024-01-01T00:00:00.000000Z",
        renewTime: "2024-01-01T00:00:00.000000Z",
        leaseTransitions: 1,
      },
    },
  ],
  [
    "/apis/discovery.k8s.io/v1/namespaces/shapes/endpointslices",
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: meta("es"),
      addressType: "IPv4",
      ports: [{ name: "a", port: 80, protocol: "TCP", appProtocol: "http" }],
      endpoints: [
        {
          addresses: ["1.2.3.4"],
          conditions: { ready: true },
          hostname: "h",
          nodeName: "n",
          zone: "z",
          hints: { forZones: [{ name: "z" }] },
          targetRef: { kind: "Pod", name: "p" },
        },
      ],
    },
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/shapes/ingresses",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: meta("in"),
      spec: {
        ingressClassName: "c",
        defaultBackend: { service: { name: "s", port: { number: 80 } } },
        tls: [{ hosts: ["a.b"], secretName: "s" }],
        rules: [
          {
            host: "a.b",
            http: {
              paths: [
                {
                  path: "/a",
                  pathType: "Prefix",
                  backend: { service: { name: "s", port: { name: "http" } } },
                },
              ],
            },
          },
          {
            host: "*.b.c",
            http: {
              paths: [
                {
                  path: "/b",
                  pathType: "Exact",
                  backend: { resource: { apiGroup: "a.b", kind: "K", name: "n" } },
                },
              ],
            },
          },
        ],
      },
    },
  ],
  [
    "/apis/networking.k8s.io/v1/ingressclasses",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: meta("ic"),
      spec: {
        controller: "example.com/c",
        parameters: { apiGroup: "a.b", kind: "K", name: "n", scope: "Namespace", namespace: "ns" },
      },
    },
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/shapes/networkpolicies",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: meta("np"),
      spec: {
        podSelector: sel,
        policyTypes: ["Ingress", "Egress"],
        ingress: [
          {
            ports: [{ port: 80, endPort: 90, protocol: "TCP" }, { port: "http" }],
            from: [
              { podSelector: sel, namespaceSelector: {} },
              { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
            ],
          },
        ],
        egress: [{ to: [{ namespaceSelector: sel }], ports: [{ port: 53, protocol: "UDP" }] }],
      },
    },
  ],
  [
    "/apis/networking.k8s.io/v1/servicecidrs",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: meta("sc"),
      spec: { cidrs: ["10.5.0.0/16", "fd00::/64"] },
    },
  ],
  [
    "/apis/networking.k8s.io/v1/ipaddresses",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "IPAddress",
      metadata: meta("10.0.0.77"),
      spec: { parentRef: { group: "a", resource: "services", namespace: "shapes", name: "x" } },
    },
  ],
  [
    "/apis/autoscaling/v2/namespaces/shapes/horizontalpodautoscalers",
    {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: meta("h"),
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        minReplicas: 1,
        maxReplicas: 5,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
          },
          {
            type: "Pods",
            pods: {
              metric: { name: "m", selector: sel },
              target: { type: "AverageValue", averageValue: "10" },
            },
          },
          {
            type: "Object",
            object: {
              describedObject: { apiVersion: "v1", kind: "Service", name: "s" },
              metric: { name: "m" },
              target: { type: "Value", value: "10" },
            },
          },
          {
            type: "External",
            external: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1" } },
          },
          {
            type: "ContainerResource",
            containerResource: {
              name: "memory",
              container: "c",
              target: { type: "AverageValue", averageValue: "1Gi" },
            },
          },
        ],
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 10,
            selectPolicy: "Max",
            policies: [{ type: "Pods", value: 1, periodSeconds: 10 }],
            tolerance: "100m",
          },
          scaleDown: { policies: [{ type: "Percent", value: 10, periodSeconds: 60 }] },
        },
      },
    },
  ],
  [
    "/apis/autoscaling/v2/namespaces/shapes/horizontalpodautoscalers",
    {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: meta("h2"),
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        maxReplicas: 5,
        behavior: { scaleUp: {} },
      },
    },
  ],
  [
    "/apis/autoscaling/v1/namespaces/shapes/horizontalpodautoscalers",
    {
      apiVersion: "autoscaling/v1",
      kind: "HorizontalPodAutoscaler",
      metadata: meta("h3"),
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        minReplicas: 1,
        maxReplicas: 5,
        targetCPUUtilizationPercentage: 50,
      },
    },
  ],
  [
    "/apis/storage.k8s.io/v1/storageclasses",
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: meta("sc"),
      provisioner: "example.com/p",
      parameters: { a: "b" },
      reclaimPolicy: "Delete",
      mountOptions: ["ro"],
      allowVolumeExpansion: true,
      volumeBindingMode: "Immediate",
      allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values: ["a", "b"] }] }],
    },
  ],
  [
    "/apis/storage.k8s.io/v1/csidrivers",
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: meta("d.example.com"),
      spec: {
        attachRequired: true,
        podInfoOnMount: true,
        volumeLifecycleModes: ["Persistent"],
        storageCapacity: true,
        fsGroupPolicy: "File",
        tokenRequests: [{ audience: "a", expirationSeconds: 3600 }],
        requiresRepublish: true,
        seLinuxMount: true,
        nodeAllocatableUpdatePeriodSeconds: 10,
        serviceAccountTokenInSecrets: true,
      },
    },
  ],
  [
    "/apis/storage.k8s.io/v1/csinodes",
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSINode",
      metadata: meta("n"),
      spec: {
        drivers: [{ name: "d.example.com", nodeID: "x", topologyKeys: ["a/b"], allocatable: { count: 3 } }],
      },
    },
  ],
  [
    "/apis/storage.k8s.io/v1/volumeattachments",
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttachment",
      metadata: meta("va"),
      spec: { attacher: "d.example.com", source: { persistentVolumeName: "pv" }, nodeName: "n" },
    },
  ],
  [
    "/apis/storage.k8s.io/v1/volumeattributesclasses",
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttributesClass",
      metadata: meta("vac"),
      driverName: "d.example.com",
      parameters: { a: "b" },
    },
  ],
  [
    "/apis/storage.k8s.io/v1/namespaces/shapes/csistoragecapacities",
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIStorageCapacity",
      metadata: meta("csc"),
      storageClassName: "sc",
      nodeTopology: sel,
      capacity: "1Gi",
      maximumVolumeSize: "1Gi",
    },
  ],
  [
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: meta("pc"),
      value: 1000,
      globalDefault: false,
      description: "d",
      preemptionPolicy: "Never",
    },
  ],
  [
    "/apis/node.k8s.io/v1/runtimeclasses",
    {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: meta("rc"),
      handler: "h",
      overhead: { podFixed: { cpu: "10m" } },
      scheduling: { nodeSelector: { a: "b" }, tolerations: [{ key: "a", operator: "Exists" }] },
    },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/namespaces/shapes/roles",
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: meta("r"),
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: ["x"] }],
    },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: meta("cr"),
      aggregationRule: { clusterRoleSelectors: [sel] },
      rules: [
        { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
        { nonResourceURLs: ["/healthz"], verbs: ["get"] },
      ],
    },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/namespaces/shapes/rolebindings",
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: meta("rb"),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [
        { kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" },
        { kind: "ServiceAccount", name: "s", namespace: "shapes" },
        { kind: "Group", name: "g" },
      ],
    },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: meta("crb"),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [
        { kind: "User", name: "u" },
        { kind: "ServiceAccount", name: "s", namespace: "shapes" },
      ],
    },
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: meta("vwc"),
      webhooks: [
        {
          name: "a.b.c",
          rules: [
            {
              operations: ["CREATE"],
              apiGroups: ["example.com"],
              apiVersions: ["v1"],
              resources: ["foos/status", "bars"],
              scope: "Namespaced",
            },
          ],
          clientConfig: { service: { namespace: "ns", name: "n", path: "/p", port: 443 }, caBundle: "Cg==" },
          failurePolicy: "Ignore",
          matchPolicy: "Exact",
          sideEffects: "None",
          timeoutSeconds: 5,
          admissionReviewVersions: ["v1"],
          namespaceSelector: sel,
          objectSelector: sel,
          matchConditions: [{ name: "a", expression: 'request.name != ""' }],
        },
      ],
    },
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: meta("mwc"),
      webhooks: [
        {
          name: "a.b.c",
          rules: [
            {
              operations: ["CREATE", "UPDATE"],
              apiGroups: ["example.com"],
              apiVersions: ["v1"],
              resources: ["foos"],
            },
          ],
          clientConfig: { url: "https://example.com/x" },
          sideEffects: "NoneOnDryRun",
          admissionReviewVersions: ["v1", "v1beta1"],
          reinvocationPolicy: "IfNeeded",
        },
      ],
    },
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: meta("vap"),
      spec: {
        failurePolicy: "Fail",
        paramKind: { apiVersion: "example.com/v1", kind: "Foo" },
        matchConstraints: {
          resourceRules: [
            {
              operations: ["CREATE"],
              apiGroups: ["apps"],
              apiVersions: ["v1"],
              resources: ["deployments"],
              resourceNames: ["x"],
            },
          ],
        },
        matchConditions: [{ name: "m", expression: "true" }],
        variables: [{ name: "v", expression: "object.spec.replicas" }],
        validations: [
          {
            expression: "variables.v <= 5",
            message: "no",
            reason: "Forbidden",
            messageExpression: '"x" + string(variables.v)',
          },
        ],
        auditAnnotations: [{ key: "k", valueExpression: '"v"' }],
      },
    },
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: meta("vapb"),
      spec: {
        policyName: "p",
        paramRef: { name: "n", namespace: "ns", parameterNotFoundAction: "Deny" },
        matchResources: {
          namespaceSelector: sel,
          excludeResourceRules: [
            { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] },
          ],
        },
        validationActions: ["Deny", "Audit"],
      },
    },
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicy",
      metadata: meta("map"),
      spec: {
        failurePolicy: "Ignore",
        matchConstraints: {
          resourceRules: [
            { operations: ["CREATE"], apiGroups: ["example.com"], apiVersions: ["v1"], resources: ["foos"] },
          ],
        },
        variables: [{ name: "v", expression: "1" }],
        mutations: [
          { patchType: "JSONPatch", jsonPatch: { expression: '[JSONPatch{op:"add",path:"/a",value:"b"}]' } },
          {
            patchType: "ApplyConfiguration",
            applyConfiguration: { expression: "Object{spec: Object.spec{a: 1}}" },
          },
        ],
        reinvocationPolicy: "Never",
      },
    },
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingAdmissionPolicyBinding",
      metadata: meta("mapb"),
      spec: {
        policyName: "p",
        paramRef: { selector: sel, parameterNotFoundAction: "Allow" },
        matchResources: { objectSelector: sel },
      },
    },
  ],
  [
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    {
      apiVersion: "flowcontrol.apiserver.k8s.io/v1",
      kind: "FlowSchema",
      metadata: meta("fs"),
      spec: {
        matchingPrecedence: 500,
        distinguisherMethod: { type: "ByUser" },
        priorityLevelConfiguration: { name: "x" },
        rules: [
          {
            subjects: [
              { kind: "User", user: { name: "u" } },
              { kind: "ServiceAccount", serviceAccount: { name: "*", namespace: "n" } },
              { kind: "Group", group: { name: "g" } },
            ],
            resourceRules: [
              {
                verbs: ["get"],
                apiGroups: ["*"],
                resources: ["pods"],
                namespaces: ["a"],
                clusterScope: true,
              },
            ],
            nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/a/*"] }],
          },
        ],
      },
    },
  ],
  [
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    {
      apiVersion: "flowcontrol.apiserver.k8s.io/v1",
      kind: "PriorityLevelConfiguration",
      metadata: meta("plc"),
      spec: {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: 10,
          lendablePercent: 10,
          borrowingLimitPercent: 20,
          limitResponse: { type: "Queue", queuing: { queues: 16, handSize: 4, queueLengthLimit: 10 } },
        },
      },
    },
  ],
  [
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: meta("csr"),
      spec: {
        request: "CSR",
        signerName: "example.com/s",
        usages: ["client auth", "digital signature"],
        expirationSeconds: 3600,
      },
    },
  ],
];
