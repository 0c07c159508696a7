//! The way of a change from the server to the reconcile of its key.
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::StreamExt;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::cost::{cpu_ms, monotonic_ns};
use crate::types::Item;

const SENT_AT: &str = "bench.keelson.dev/sent-at";

struct Seen {
    ms: Vec<f64>,
    looks: usize,
    last: Instant,
}

type Taken = Arc<Mutex<Seen>>;

async fn reconcile(item: Arc<Item>, taken: Arc<Taken>) -> Result<Action, kube::Error> {
    let now = monotonic_ns();
    let sent = item.annotations().get(SENT_AT).and_then(|text| text.parse::<i64>().ok());
    let mut seen = taken.lock().unwrap();
    seen.looks += 1;
    seen.last = Instant::now();
    if let Some(sent) = sent {
        seen.ms.push((now - sent) as f64 / 1e6);
    }
    Ok(Action::await_change())
}

/// Has `count` changes made, and returns when all were seen or none came for two seconds.
async fn ask(taken: &Taken, control: &str, count: usize, rate: &str) {
    {
        let mut seen = taken.lock().unwrap();
        seen.ms.clear();
        seen.last = Instant::now();
    }
    let host = control.trim_start_matches("http://").to_string();
    let request = format!("GET /events?count={count}&rate={rate} HTTP/1.0\r\nhost: {host}\r\n\r\n");
    std::thread::spawn(move || {
        let mut socket = TcpStream::connect(&host).expect("no control");
        socket.write_all(request.as_bytes()).expect("no control");
        let _ = socket.read_to_end(&mut Vec::new());
    });
    loop {
        {
            let seen = taken.lock().unwrap();
            if seen.ms.len() >= count || seen.last.elapsed() > Duration::from_secs(2) {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn measure(client: Client, args: &[String]) -> Result<()> {
    let objects: usize = args[2].parse()?;
    let events: usize = args[3].parse()?;
    let (rate, control) = (args[4].clone(), args[5].clone());
    let taken: Taken = Arc::new(Mutex::new(Seen { ms: Vec::new(), looks: 0, last: Instant::now() }));
    let controller = Controller::new(Api::<Item>::all(client), watcher::Config::default().streaming_lists())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(taken.clone()))
        .for_each(|_| std::future::ready(()));
    tokio::spawn(controller);
    // The first reconcile of every object must be over.
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let seen = taken.lock().unwrap();
        if seen.looks >= objects && seen.last.elapsed() > Duration::from_millis(500) {
            break;
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    ask(&taken, &control, events.div_ceil(2), &rate).await;
    let cpu = cpu_ms();
    ask(&taken, &control, events, &rate).await;
    let spent = cpu_ms() - cpu;
    let mut seen = taken.lock().unwrap();
    seen.ms.sort_by(f64::total_cmp);
    let count = seen.ms.len();
    let at = |share: f64| seen.ms[((count as f64 * share) as usize).min(count - 1)];
    println!(
        "{}",
        json!({
            "seen": count, "p50Ms": at(0.5), "p99Ms": at(0.99), "cpuUsPerEvent": spent * 1e3 / count as f64,
        })
    );
    Ok(())
}
