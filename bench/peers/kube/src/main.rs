//! What kube costs where Keelson's bench measures Keelson: a cache that is filled, a change on its way to a reconcile, and
//! a controller that writes a child and a status for each object.
mod cost;
mod latency;
mod manager;
mod sync;
mod types;

use anyhow::{Context, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (mode, kubeconfig) = match args.as_slice() {
        [mode, kubeconfig, ..] => (mode.as_str(), kubeconfig),
        _ => bail!("usage: sync|latency|manager KUBECONFIG …"),
    };
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("no kubeconfig")?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    match mode {
        "sync" => sync::measure(client, &args[2..]).await,
        "latency" => latency::measure(client, &args[2..]).await,
        "manager" => manager::run(client, &args[2..]).await,
        other => bail!("there is no {other}"),
    }
}
