//! A controller that keeps a ConfigMap and a status for each Part, and does what it is told on standard input: `start`, and
//! `again` for a look at every object. After each it tells how many reconciles that took, once none has come for a while.
use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::runtime::controller::{Action, Config};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{Controller, WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use crate::cost::monotonic_ns;
use crate::types::{Part, PartStatus};

struct Context {
    client: Client,
    children: Store<ConfigMap>,
    count: AtomicU64,
    last_ns: AtomicI64,
}

async fn reconcile(part: Arc<Part>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let result = keep(&part, &context).await;
    context.last_ns.store(monotonic_ns(), Ordering::SeqCst);
    context.count.fetch_add(1, Ordering::SeqCst);
    result.map(|()| Action::await_change())
}

/// Sends nothing where child and status are as they should be.
async fn keep(part: &Part, context: &Context) -> Result<(), kube::Error> {
    let (name, namespace) = (part.name_any(), part.namespace().unwrap_or_default());
    let apply = PatchParams::apply("parts").force();
    let data = BTreeMap::from([("size".to_string(), part.spec.size.to_string())]);
    let owner = part.controller_owner_ref(&()).expect("no uid");
    let child = context.children.get(&ObjectRef::new(&name).within(&namespace));
    let is_there = child.is_some_and(|child| child.data.as_ref() == Some(&data) && child.owner_references().contains(&owner));
    if !is_there {
        let metadata = ObjectMeta { name: Some(name.clone()), owner_references: Some(vec![owner]), ..ObjectMeta::default() };
        let child = ConfigMap { metadata, data: Some(data), ..ConfigMap::default() };
        let children: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
        children.patch(&name, &apply, &Patch::Apply(child)).await?;
    }
    let generation = part.metadata.generation.unwrap_or_default();
    let current = part.status.clone().unwrap_or_default();
    let ready = current.conditions.iter().find(|each| each.type_ == "Ready" && each.status == "True");
    let since = ready.map_or_else(|| Time(Timestamp::now()), |each| each.last_transition_time.clone());
    let condition = Condition {
        type_: "Ready".into(),
        status: "True".into(),
        reason: "Ready".into(),
        message: "is as its spec says".into(),
        observed_generation: Some(generation),
        last_transition_time: since,
    };
    let status = PartStatus { size: part.spec.size, observed_generation: generation, conditions: vec![condition] };
    if status != current {
        let parts: Api<Part> = Api::namespaced(context.client.clone(), &namespace);
        let body = json!({ "apiVersion": Part::api_version(&()), "kind": Part::kind(&()), "status": status });
        parts.patch_status(&name, &apply, &Patch::Apply(body)).await?;
    }
    Ok(())
}

pub async fn run(client: Client, args: &[String]) -> Result<()> {
    let namespace = &args[0];
    let objects: u64 = args[1].parse()?;
    let (children, writer) = reflector::store::<ConfigMap>();
    let context =
        Arc::new(Context { client: client.clone(), children, count: AtomicU64::new(0), last_ns: AtomicI64::new(0) });
    let (mut again, looks) = mpsc::channel::<()>(1);
    let configs = watcher(Api::<ConfigMap>::namespaced(client.clone(), namespace), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .touched_objects();
    let mut controller = Some(
        Controller::new(Api::<Part>::namespaced(client, namespace), watcher::Config::default())
            .owns_stream(configs)
            .with_config(Config::default().concurrency(16))
            .reconcile_all_on(looks)
            .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), context.clone())
            .for_each(|_| std::future::ready(())),
    );
    println!("ready");
    for command in std::io::stdin().lock().lines() {
        let (before, began) = (context.count.load(Ordering::SeqCst), monotonic_ns());
        match command?.as_str() {
            "start" => {
                if let Some(controller) = controller.take() {
                    tokio::spawn(controller);
                }
            }
            _ => again.send(()).await?,
        }
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let idle_ns = monotonic_ns() - context.last_ns.load(Ordering::SeqCst);
            if context.count.load(Ordering::SeqCst) - before >= objects && idle_ns > 500_000_000 {
                break;
            }
        }
        let ms = (context.last_ns.load(Ordering::SeqCst) - began) as f64 / 1e6;
        println!("{}", json!({ "reconciles": context.count.load(Ordering::SeqCst) - before, "ms": ms }));
    }
    Ok(())
}
