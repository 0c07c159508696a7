// How a definition says that its versions are converted.
import { anything, crd, crdPath, dryRun, test } from "./_lib.mjs";

export default [
  test("CustomResourceDefinition create: conversion strategies and webhooks", (t) => {
    for (const c of [
      { strategy: "Bogus" },
      { strategy: "Webhook" },
      { strategy: "Webhook", webhook: {} },
      { strategy: "Webhook", webhook: { conversionReviewVersions: ["v9"], clientConfig: {} } },
      { strategy: "Webhook", webhook: { conversionReviewVersions: [], clientConfig: { url: "http://x" } } },
      { strategy: "None", webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://x" } } },
      {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1", "v1beta1"],
          clientConfig: { service: { namespace: "", name: "" } },
        },
      },
      {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1", "v1"],
          clientConfig: { url: "https://x", service: { namespace: "a", name: "b" } },
        },
      },
      {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { url: "https://x", caBundle: "bm90IGEgY2VydA==" },
        },
      },
      {},
      null,
    ])
      t.post(crdPath, crd(anything, { conversion: c }), dryRun);
    t.post(crdPath, crd({ ...anything }, { preserveUnknownFields: true }), dryRun).post(
      crdPath,
      crd(
        { type: "object" },
        {
          preserveUnknownFields: true,
          conversion: {
            strategy: "Webhook",
            webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://x" } },
          },
        },
      ),
      dryRun,
    );
  }),
];
