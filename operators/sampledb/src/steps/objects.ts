/** The objects of every database, from the first moment: applied in every pass, sent only when something differs. */
import { adoptAnnotation, type ObjectOf, Quantity } from "keelson";
import type { PersistentVolumeClaim } from "keelson/kinds";
import { initialization } from "../agent/initialization.ts";
import type { SampleDBObject, Spec, Status } from "../api/sampledb.ts";
import { claimViews, knownStatus, ownStatus } from "../observe/observe.ts";
import { replicasToRun, serversToMake, serversToRun } from "../observe/servers-to-run.ts";
import type { Access } from "../resources/access.ts";
import { primaryBudget, replicaBudget } from "../resources/budgets.ts";
import { backupsClaim, dataClaim, sizeOfNewClaim } from "../resources/claims.ts";
import { configMap } from "../resources/config.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { claimName, databaseName, objectNames, serverName } from "../resources/names.ts";
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

type RefusedSize = NonNullable<Status["refusedSize"]>;
type RefusedSizes = Pick<Status, "refusedSize" | "refusedBackupSize">;

/**
 * Volumes before pods: a StatefulSet would make them too, but not of the size that is wanted by then. Returns sizes that
 * they were refused.
 */
export async function applyServers(
  db: SampleDBObject,
  ctx: SampleDBContext,
  { tried }: { readonly tried: boolean },
): Promise<RefusedSizes> {
  const database = databaseName(db);
  const claims = claimViews(ctx);
  const status = knownStatus(db, ctx, claims);
  let refusedSize: RefusedSize | undefined;
  const servers = serversToRun({ spec: db.spec, status, database }, claims);
  for (let ordinal = 0; ordinal < Math.max(servers, 1 + replicasToRun({ spec: db.spec, status })); ordinal++)
    refusedSize = (await applyClaim(db, ctx, ordinal)) ?? refusedSize;
  const refusedBackupSize = await applyBackupsClaim(db, ctx);
  const refused = { ...(refusedSize && { refusedSize }), ...(refusedBackupSize && { refusedBackupSize }) };
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

async function applyClaim(
  db: SampleDBObject,
  ctx: SampleDBContext,
  ordinal: number,
): Promise<RefusedSize | undefined> {
  const database = databaseName(db);
  const there = ctx.own.claims.get(String(ordinal));
  const size = there ? String(db.spec.storage.size) : sizeOfNewClaim(db.spec, claimViews(ctx).values());
  const storage = { ...db.spec.storage, size };
  const refused = db.status?.refusedSize?.size === size;
  const name = claimName(database, ordinal);
  return await applyStorage(
    ctx,
    { there, storage, refused, name },
    async (kept) => await ctx.own.claims.apply(String(ordinal), dataClaim(database, ordinal, kept)),
  );
}

/** The store of backups, where no other is named. One that cannot grow is used as it is. */
export async function applyBackupsClaim(
  db: SampleDBObject,
  ctx: SampleDBContext,
): Promise<RefusedSize | undefined> {
  if (db.spec.backup.store !== undefined) return undefined;
  const database = databaseName(db);
  const storage = { ...db.spec.storage, size: db.spec.backup.size };
  const refused = db.status?.refusedBackupSize?.size === String(storage.size);
  const { backups: name } = objectNames(database);
  return await applyStorage(
    ctx,
    { there: ctx.own.backupsClaim.get(), storage, refused, name },
    async (kept) => await ctx.own.backupsClaim.apply(backupsClaim(database, kept)),
  );
}

/** Claims never shrink, and those that exist keep their class. Returns a size that this one was refused. */
async function applyStorage(
  ctx: SampleDBContext,
  options: {
    readonly there: ObjectOf<typeof PersistentVolumeClaim> | undefined;
    readonly storage: Spec["storage"];
    /** It was refused this size before. */
    readonly refused: boolean;
    readonly name: string;
  },
  apply: (storage: Spec["storage"]) => Promise<unknown>,
): Promise<RefusedSize | undefined> {
  const { there, storage, refused, name } = options;
  const size = String(storage.size);
  const has = there?.spec?.resources?.requests?.["storage"];
  const grows = has !== undefined && Quantity.from(String(has)).compare(Quantity.from(size)) < 0 && !refused;
  const className = there ? there.spec?.storageClassName : storage.className;
  try {
    await apply({
      size: has === undefined || grows ? size : String(has),
      ...(className === undefined ? {} : { className }),
    });
    if (grows) ctx.event("Normal", "VolumeGrows", `${name} grows to ${size}`);
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (!grows || (code !== 403 && code !== 422 && code !== "InvalidChild")) throw error;
    ctx.event("Warning", "VolumeCannotGrow", message);
    return { size, message };
  }
  return undefined;
}
