/** Mistakes in an object, found by the compiler and told in one line that begins with the path of the field. */

/**
 * What is wrong with `Given` where `Wanted` is expected; never when nothing is. Beside what is not assignable it finds
 * fields that `Wanted` does not have: for those the compiler itself looks only where a literal meets a declared type,
 * and what an arrow function returns does not.
 */
export type Mistake<Given, Wanted, Path extends string = ""> = unknown extends Given
  ? never
  : Given extends object
    ? Given extends readonly unknown[]
      ? [Extract<Wanted, readonly unknown[]>] extends [never]
        ? Must<Path, Wanted>
        : Mistake<Given[number], Extract<Wanted, readonly unknown[]>[number], `${Path}[]`>
      : [PlainObject<Wanted>] extends [never]
        ? Must<Path, Wanted>
        : FieldMistake<Given, PlainObject<Wanted>, Path>
    : [Given] extends [Wanted]
      ? never
      : Given extends undefined
        ? `${Path} is undefined: leave it out`
        : Must<Path, Wanted>;

type PlainObject<T> = Exclude<Extract<T, object>, readonly unknown[]>;

type FieldMistake<Given, Wanted, Path extends string> =
  IsSame<Given, Wanted> extends true ? never : Unknown<Given, Wanted, Path> | Missing<Given, Wanted, Path>;

type Unknown<Given, Wanted, Path extends string> = {
  [K in keyof Given & string]-?: K extends KeysOf<Wanted>
    ? Mistake<Exclude<Given[K], Optional<Given, K>>, Field<Wanted, K>, Dotted<Path, K>>
    : `${Dotted<Path, K>} does not exist`;
}[keyof Given & string];

/** An optional field may be undefined: it is not sent then. */
type Optional<Given, K extends keyof Given> = object extends Pick<Given, K> ? undefined : never;

type Missing<Given, Wanted, Path extends string> = {
  [K in keyof Wanted & string]-?: K extends keyof Given
    ? never
    : string extends K
      ? never
      : object extends Pick<Wanted, K>
        ? never
        : `${Dotted<Path, K>} is missing`;
}[keyof Wanted & string];

/** The keys of any member of a union. */
type KeysOf<T> = T extends unknown ? keyof T : never;

type Field<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never;

type IsSame<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

type Dotted<Path extends string, K extends string> = Path extends "" ? K : `${Path}.${K}`;

type Must<
  Path extends string,
  Wanted,
> = `${Path extends "" ? "what is returned" : Path} must be ${Expected<Exclude<Wanted, undefined>>}`;

type Expected<T> = [T] extends [string]
  ? string extends T
    ? "a string"
    : T
  : [T] extends [number]
    ? "a number"
    : [T] extends [boolean]
      ? "true or false"
      : [T] extends [readonly unknown[]]
        ? "a list"
        : [T] extends [object]
          ? "an object"
          : "of another type";
