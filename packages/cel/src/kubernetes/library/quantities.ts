/** Quantities: `quantity("500m")`, their arithmetic and order. */
import { CoreError, Quantity } from "@keelson/core";
import { type FunctionDecl, type Library, member, overload } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { fixed } from "../../values/cost-range.ts";
import { intFromBigInt } from "../../values/numbers.ts";
import { type CelType, objectType, types } from "../../values/types.ts";
import { type CelValue, Double, Fault, fault, isInt, Opaque } from "../../values/values.ts";
import { parseCost, unitCost } from "./costs.ts";

const { bool, double, int, string } = types;

const quantityType: CelType = { ...objectType("kubernetes.Quantity"), equalityCost: () => fixed(1) };

class QuantityValue extends Opaque {
  readonly type = quantityType;
  readonly quantity: Quantity;
  /**
   * Came out of a sum. The API server cannot compare such a quantity as the right side of `==`; so neither
   * can we, or a rule that works here would fail there.
   */
  readonly computed: boolean;

  constructor(quantity: Quantity, computed = false) {
    super();
    this.quantity = quantity;
    this.computed = computed;
  }

  equals(other: CelValue): boolean | Fault {
    if (!(other instanceof QuantityValue) || other.computed) return noSuchOverload;
    return this.quantity.equals(other.quantity);
  }
}

function parse(text: CelValue | undefined): Quantity | Fault {
  if (typeof text !== "string") return noSuchOverload;
  try {
    return Quantity.parse(text);
  } catch (error) {
    if (error instanceof CoreError) return fault(error.message);
    throw error;
  }
}

type Args = readonly CelValue[];

function onOne(run: (quantity: Quantity) => CelValue) {
  return ([value]: Args): CelValue => (value instanceof QuantityValue ? run(value.quantity) : noSuchOverload);
}

/** The second operand may be an integer where the overload says so. */
function onTwo(run: (a: Quantity, b: Quantity) => CelValue) {
  return ([a, b]: Args): CelValue => {
    if (!(a instanceof QuantityValue)) return noSuchOverload;
    if (b instanceof QuantityValue) return run(a.quantity, b.quantity);
    return b !== undefined && isInt(b)
      ? run(a.quantity, Quantity.of(BigInt(b), 0, "DecimalExponent"))
      : noSuchOverload;
  };
}

function comparison(
  name: string,
  id: string,
  result: CelType,
  run: (order: number) => CelValue,
): FunctionDecl {
  const impl = onTwo((a, b) => run(a.compare(b)));
  return {
    name,
    cost: unitCost,
    overloads: [member(id, [quantityType, quantityType], result, impl)],
  };
}

function arithmetic(name: string, run: (a: Quantity, b: Quantity) => Quantity): FunctionDecl {
  const impl = onTwo((a, b) => new QuantityValue(run(a, b), true));
  return {
    name,
    cost: unitCost,
    overloads: [
      member(`quantity_${name}`, [quantityType, quantityType], quantityType, impl),
      member(`quantity_${name}_int`, [quantityType, int], quantityType, impl),
    ],
  };
}

const functions: readonly FunctionDecl[] = [
  {
    name: "quantity",
    cost: parseCost,
    overloads: [
      overload("string_to_quantity", [string], quantityType, ([text]) => {
        const quantity = parse(text);
        return quantity instanceof Fault ? quantity : new QuantityValue(quantity);
      }),
    ],
  },
  {
    name: "isQuantity",
    cost: parseCost,
    overloads: [overload("is_quantity_string", [string], bool, ([text]) => parse(text) instanceof Quantity)],
  },
  // A plain function, unlike its siblings: `sign(q)`.
  {
    name: "sign",
    cost: unitCost,
    overloads: [
      overload(
        "quantity_sign",
        [quantityType],
        int,
        onOne((quantity) => quantity.sign()),
      ),
    ],
  },
  comparison("isGreaterThan", "quantity_is_greater_than", bool, (order) => order > 0),
  comparison("isLessThan", "quantity_is_less_than", bool, (order) => order < 0),
  comparison("compareTo", "quantity_compare_to", int, (order) => order),
  {
    name: "asApproximateFloat",
    cost: unitCost,
    overloads: [
      member(
        "quantity_get_float",
        [quantityType],
        double,
        onOne((quantity) => new Double(quantity.toNumber())),
      ),
    ],
  },
  {
    name: "asInteger",
    cost: unitCost,
    overloads: [
      member(
        "quantity_get_int",
        [quantityType],
        int,
        onOne((quantity) => {
          const whole = quantity.asInt64();
          return whole === undefined ? fault("cannot convert value to integer") : intFromBigInt(whole);
        }),
      ),
    ],
  },
  {
    name: "isInteger",
    cost: unitCost,
    overloads: [
      member(
        "quantity_is_integer",
        [quantityType],
        bool,
        onOne((quantity) => quantity.asInt64() !== undefined),
      ),
    ],
  },
  arithmetic("add", (a, b) => a.add(b)),
  arithmetic("sub", (a, b) => a.sub(b)),
];

export const quantityLibrary: Library = { name: "kubernetes.quantity", functions };
