// Which flags each program of the control plane gets: pure, so that the whole set-up can be read in one place.

/** Addresses and files that the programs of one control plane agree on. */
export interface Layout {
  readonly ports: {
    readonly apiserver: number;
    readonly etcd: number;
    readonly etcdPeer: number;
    readonly controllerManager: number;
    readonly scheduler: number;
  };
  /** Path of a file in the control plane's directory. */
  readonly file: (name: string) => string;
}

export const serviceCidr = "10.96.0.0/16";
/** First address of `serviceCidr`: what `kubernetes.default` resolves to. */
export const kubernetesServiceAddress = "10.96.0.1";

export function etcdFlags({ ports, file }: Layout, { durable }: { durable: boolean }): string[] {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return [
    "--name=reference",
    `--data-dir=${file("etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=reference=${peer}`,
    // A member without peers elects itself after this time; the default costs up to a second.
    "--heartbeat-interval=10",
    "--election-timeout=100",
    ...(durable ? [] : ["--unsafe-no-fsync"]),
  ];
}

export function apiserverFlags({ ports, file }: Layout): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${ports.apiserver}`,
    // Without it a machine that has no route to anywhere cannot start; and a loopback address is
    // refused as an endpoint of the service `kubernetes`, so none is published.
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--tls-cert-file=${file("server.crt")}`,
    `--tls-private-key-file=${file("server.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--authorization-mode=Node,RBAC",
    "--allow-privileged=true",
    `--service-cluster-ip-range=${serviceCidr}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-account-key-file=${file("service-account.pub")}`,
    `--service-account-signing-key-file=${file("service-account.key")}`,
    `--kubelet-client-certificate=${file("kubelet-client.crt")}`,
    `--kubelet-client-key=${file("kubelet-client.key")}`,
    "--kubelet-preferred-address-types=InternalDNS,InternalIP,Hostname",
    // How an aggregated API server knows on whose behalf this one calls it.
    `--requestheader-client-ca-file=${file("front-proxy-ca.crt")}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${file("front-proxy-client.crt")}`,
    `--proxy-client-key-file=${file("front-proxy-client.key")}`,
  ];
}

export function controllerManagerFlags({ ports, file }: Layout): string[] {
  return [
    ...componentFlags("controller-manager", ports.controllerManager, file),
    "--use-service-account-credentials=true",
    // At the default of 20 the forty controllers queue for their tokens, and the start takes five seconds longer.
    "--kube-api-qps=200",
    "--kube-api-burst=400",
    `--service-account-private-key-file=${file("service-account.key")}`,
    `--root-ca-file=${file("ca.crt")}`,
    `--cluster-signing-cert-file=${file("ca.crt")}`,
    `--cluster-signing-key-file=${file("ca.key")}`,
    `--service-cluster-ip-range=${serviceCidr}`,
    // Its default is a system directory, which it would create as root and trip over as anybody else.
    `--flex-volume-plugin-dir=${file("flexvolume")}`,
  ];
}

export function schedulerFlags({ ports, file }: Layout): string[] {
  return componentFlags("scheduler", ports.scheduler, file);
}

function componentFlags(name: string, port: number, file: Layout["file"]): string[] {
  const kubeconfig = file(`${name}.kubeconfig`);
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${file("server.crt")}`,
    `--tls-private-key-file=${file("server.key")}`,
    // There is one of each; electing it would only delay the start.
    "--leader-elect=false",
  ];
}
