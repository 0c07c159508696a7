/** An operator with all that a deployment must carry: a child, a webhook, and versions that it converts. */
import { controller, deny, operator, webhook } from "keelson";
import { ConfigMap } from "keelson/kinds";
import { Ticket } from "./api.ts";

export { Ticket } from "./api.ts";

const tickets = controller(Ticket, {
  owns: { receipt: ConfigMap },
  compose: ({ metadata, spec }) => ({
    children: { receipt: { data: { paid: `${spec.amount} ${spec.currency}` } } },
    status: { receipt: metadata.name },
  }),
});

const fair = webhook(Ticket, {
  name: "fair",
  validate: ({ spec }) => (spec.amount === 13 ? deny("nobody sits in row 13") : undefined),
});

export const app = operator({ name: "ticket-operator", controllers: [tickets], webhooks: [fair] });
