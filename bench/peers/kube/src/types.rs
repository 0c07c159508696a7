//! The two kinds of the bench.
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What the controller reconciles.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "bench.keelson.dev", version = "v1", kind = "Part", namespaced, status = "PartStatus", schema = "disabled")]
pub struct PartSpec {
    pub size: i64,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartStatus {
    #[serde(default)]
    pub size: i64,
    #[serde(default)]
    pub observed_generation: i64,
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// What caches are filled with: 1.5 KB of JSON.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "bench.keelson.dev", version = "v1", kind = "Item", namespaced, status = "ItemStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct ItemSpec {
    pub image: String,
    pub replicas: i64,
    pub resources: Resources,
    pub schedule: String,
    pub storage: Storage,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Resources {
    pub limits: Quantities,
    pub requests: Quantities,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Quantities {
    pub cpu: String,
    pub memory: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    pub class_name: String,
    pub size: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemStatus {
    #[serde(default)]
    pub conditions: Vec<Condition>,
    #[serde(default)]
    pub endpoint: String,
    #[serde(default)]
    pub observed_generation: i64,
}
