//! Fills a store of Items, without managed fields, and reads each object once.
use anyhow::{Result, bail};
use futures::StreamExt;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::cost::{Cost, in_use, peak_rss_mb};
use crate::types::Item;

pub async fn measure(client: Client, args: &[String]) -> Result<()> {
    let before = in_use();
    let cost = Cost::begin();
    let (store, writer) = reflector::store::<Item>();
    let changes = watcher(Api::<Item>::all(client), watcher::Config::default().streaming_lists())
        .modify(|item| item.managed_fields_mut().clear())
        .reflect(writer)
        .for_each(|_| std::future::ready(()));
    tokio::spawn(changes);
    store.wait_until_ready().await?;
    let sync = cost.end();
    let peak = peak_rss_mb();
    let retained = in_use().saturating_sub(before);
    let cost = Cost::begin();
    let items = store.state();
    if items.len().to_string() != args[2] {
        bail!("expected {} objects, got {}", args[2], items.len());
    }
    let sum: i64 = items.iter().map(|item| item.spec.replicas).sum();
    let read = cost.end();
    println!(
        "{}",
        json!({
            "sync": sync, "peakRssMb": peak, "retained": retained, "read": read, "retainedAfterRead": retained, "sum": sum,
        })
    );
    Ok(())
}
