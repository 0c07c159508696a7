//! What a piece of work cost this process.
use std::time::Instant;

use serde_json::{Value, json};

pub struct Cost {
    began: Instant,
    cpu_ms: f64,
}

impl Cost {
    pub fn begin() -> Self {
        Self { began: Instant::now(), cpu_ms: cpu_ms() }
    }

    pub fn end(&self) -> Value {
        json!({ "ms": self.began.elapsed().as_secs_f64() * 1e3, "cpuMs": cpu_ms() - self.cpu_ms })
    }
}

/// CPU of this process since it started.
pub fn cpu_ms() -> f64 {
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

/// Bytes that were allocated and not freed.
pub fn in_use() -> u64 {
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as u64
}

pub fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kilobytes: f64 = line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
    kilobytes / 1024.0
}

/// The clock that changes are stamped with.
pub fn monotonic_ns() -> i64 {
    let mut now = unsafe { std::mem::zeroed::<libc::timespec>() };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as i64 * 1_000_000_000 + now.tv_nsec as i64
}
