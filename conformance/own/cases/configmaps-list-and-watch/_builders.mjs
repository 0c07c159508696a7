// Builders that the cases of this folder share.
import { cm, ns } from "../_lib.mjs";

export const configMaps = `${ns}/configmaps`;

export const createFive = (t) => {
  for (let i = 0; i < 5; i++)
    t.post(
      configMaps,
      cm(`c${i}`, { n: String(i) }, { labels: { parity: i % 2 ? "odd" : "even", n: String(i) } }),
      { silent: true, save: { [`R${"abcde"[i]}`]: (b) => b.metadata?.resourceVersion } },
    );
  return t;
};

export const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

export const asMetadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
