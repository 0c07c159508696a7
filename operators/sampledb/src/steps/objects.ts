/** The objects of every database, from the first moment: applied in every pass, sent only when something differs. */
import { adoptAnnotation, Quantity } from "keelson";
import { initialization } from "../agent/initialization.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import { claimViews, knownStatus, ownStatus } from "../observe/observe.ts";
import { replicasToRun, serversToMake, serversToRun } from "../observe/servers-to-run.ts";
import type { Access } from "../resources/access.ts";
import { primaryBudget, replicaBudget } from "../resources/budgets.ts";
import { backupsClaim, dataClaim } from "../resources/claims.ts";
import { configMap } from "../resources/config.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { claimName, databaseName, serverName } from "../resources/names.ts";
import { readsService, serversService, writesService } from "../resources/services.ts";
import { refusedSetting, specToRun } from "../resources/settings-to-run.ts";
import type { VolumePlan } from "../resources/start-script.ts";
import { statefulSet } from "../resources/stateful-set.ts";

/** What comes before the servers can be asked. */
export async function applyObjects(
  db: SampleDBObject,
  ctx: SampleDBContext,
  { access, tried }: { readonly access: Access; readonly tried: boolean },
): Promise<void> {
  const database = databaseName(db);
  const { own } = ctx;
  const claims = claimViews(ctx);
  const status = knownStatus(db, ctx, claims);
  await own.servers.apply(serversService(database));
  await own.writes.apply(writesService(database, true));
  await own.reads.apply(readsService(database));
  await own.primaryBudget.apply(primaryBudget(database, db.spec.replicas));
  await own.replicaBudget.apply(replicaBudget(database, db.spec.replicas));
  const version = status.imageVersion ?? db.spec.version;
  const content = initialization(db.spec, version, access.aclLines);
  await own.config.apply(
    configMap({
      database,
      spec: db.spec,
      // A pod of the version that is given up must not carry out what is meant for the other.
      plans: tried ? volumePlans(db) : new Map(),
      // A setting that is refused never reaches the file that servers start with.
      kept:
        tried && refusedSetting(db, own) === undefined ? undefined : own.config.get()?.data?.["redis.conf"],
      servers:
        serversToRun({ spec: db.spec, status, database }, claims) ||
        1 + replicasToRun({ spec: db.spec, status }),
      initialize: JSON.stringify(content),
    }),
  );
}

/** What servers do with their volumes at their next start, see `VolumePlan`. */
export function volumePlans(db: SampleDBObject): ReadonlyMap<string, VolumePlan> {
  const { upgrade, primary } = ownStatus(db);
  const database = databaseName(db);
  if (upgrade?.phase !== "GoingBack") return new Map();
  const { id, held = primary } = upgrade;
  const names = Array.from({ length: 1 + db.spec.replicas }, (_, ordinal) => serverName(database, ordinal));
  // The old version cannot read what the new one wrote. The old primary has all data, as it is.
  const others = names.filter((name) => name !== held);
  return new Map(others.map((name) => [name, { aside: `new-${id}` }]));
}

type RefusedSize = NonNullable<ReturnType<typeof ownStatus>["refusedSize"]>;

/**
 * Volumes before pods: a StatefulSet would make them too, but not of the size that is wanted by then. Returns a size that
 * they were refused.
 */
export async function applyServers(
  db: SampleDBObject,
  ctx: SampleDBContext,
  { tried }: { readonly tried: boolean },
): Promise<RefusedSize | undefined> {
  const database = databaseName(db);
  const claims = claimViews(ctx);
  const status = knownStatus(db, ctx, claims);
  let refused: RefusedSize | undefined;
  const servers = serversToRun({ spec: db.spec, status, database }, claims);
  for (let ordinal = 0; ordinal < Math.max(servers, 1 + replicasToRun({ spec: db.spec, status })); ordinal++)
    refused = (await applyClaim(db, ctx, ordinal)) ?? refused;
  if (db.spec.backup.store === undefined) await ctx.own.backupsClaim.apply(backupsClaim(database, db.spec));
  const set = ctx.own.set.get();
  const template = set?.spec?.volumeClaimTemplates?.[0];
  const templateSize = String(template?.spec?.resources?.requests?.["storage"] ?? db.spec.storage.size);
  const version = status.imageVersion ?? db.spec.version;
  if (refusedSetting(db, ctx.own) !== undefined && !set) return refused;
  await ctx.own.set.apply(
    statefulSet({
      database,
      spec: specToRun(db, ctx.own),
      version,
      servers: serversToMake({ spec: db.spec, status, database }, claims, {
        tried,
        present: set?.spec?.replicas ?? 0,
      }),
      templateSize,
      adopt: adoptAnnotation,
      kept: tried ? undefined : (set?.spec?.template as never),
    }),
  );
  return refused;
}

/** Claims never shrink, and those that exist keep their class. */
async function applyClaim(
  db: SampleDBObject,
  ctx: SampleDBContext,
  ordinal: number,
): Promise<RefusedSize | undefined> {
  const database = databaseName(db);
  const there = ctx.own.claims.get(String(ordinal));
  const has = there?.spec?.resources?.requests?.["storage"];
  const { size, className } = db.spec.storage;
  const refused = db.status?.refusedSize?.size === String(size);
  const grows =
    has !== undefined && Quantity.from(String(has)).compare(Quantity.from(String(size))) < 0 && !refused;
  const storage = has === undefined || grows ? { size } : { size: has };
  const kept = there ? there.spec?.storageClassName : className;
  const claim = dataClaim(database, ordinal, {
    ...storage,
    ...(kept === undefined ? {} : { className: kept }),
  });
  try {
    await ctx.own.claims.apply(String(ordinal), claim);
    if (grows) ctx.event("Normal", "VolumeGrows", `${claimName(database, ordinal)} grows to ${size}`);
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (!grows || (code !== 403 && code !== 422 && code !== "InvalidChild")) throw error;
    ctx.event("Warning", "VolumeCannotGrow", message);
    return { size: String(size), message };
  }
  return undefined;
}
