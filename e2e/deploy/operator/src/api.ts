/** Ticket: what its holder paid, in two versions. */
import { resource, z } from "keelson";

export const Ticket = resource({
  group: "fair.keelson.dev",
  kind: "Ticket",
  versions: {
    v1alpha1: {
      description: "A ticket, with its price as text.",
      spec: z.object({ price: z.string().max(20).describe("What it costs, as 12 EUR.") }),
    },
    v1: {
      description: "A ticket, with its price as a number.",
      spec: z.object({
        amount: z.int().min(0).max(1_000_000).describe("What it costs."),
        currency: z.string().max(3).default("EUR").describe("In which money."),
      }),
      status: z.object({
        receipt: z.string().max(253).optional().describe("The ConfigMap with the receipt."),
      }),
    },
  },
  storage: "v1",
  conversions: {
    v1alpha1: {
      toStored: ({ spec }) => {
        const [amount = "0", currency = "EUR"] = spec.price.split(" ");
        return { spec: { amount: Number(amount), currency } };
      },
      fromStored: ({ spec }) => ({ spec: { price: `${spec.amount} ${spec.currency}` } }),
    },
  },
});
