/** The string formats that schemas of custom resources may ask for. Others are ignored. */
import { isIPv4, isIPv6 } from "node:net";
import { parseFormattedDuration } from "@keelson/cel";
import { parseTime } from "@keelson/core";

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const uuidOf = (version: number, variant = "[89ab]") =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, "i");
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const hostname =
  /^([a-zA-Z0-9\p{S}\p{L}](-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|([a-zA-Z0-9\p{S}\p{L}]([a-zA-Z0-9\p{S}\p{L}-]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;
const shortName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const longName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const rgb =
  /^rgb\(\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*,\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*,\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*\)$/;

const formats = new Map<string, (text: string) => boolean>(
  Object.entries({
    bsonobjectid: (text) => /^[0-9a-fA-F]{24}$/.test(text),
    uri: isRequestUri,
    email: (text) => /^[^\s@<>()[\],;:\\"]+@[^\s@]+$/.test(text),
    hostname: isHostname,
    // Leading zeros are allowed here, unlike elsewhere.
    ipv4: (text) => isIPv4(text.replace(/(^|\.)0+(?=\d)/g, "$1")),
    ipv6: (text) => isIPv6(text) && !text.includes("%"),
    cidr: isCidr,
    mac: (text) =>
      /^([0-9a-f]{2}[:-]){5,7}[0-9a-f]{2}$/i.test(text) || /^([0-9a-f]{4}\.){2,3}[0-9a-f]{4}$/i.test(text),
    uuid: (text) => uuid.test(text),
    uuid3: (text) => uuidOf(3, "[0-9a-f]").test(text),
    uuid4: (text) => uuidOf(4).test(text),
    uuid5: (text) => uuidOf(5).test(text),
    isbn: (text) => isIsbn10(text) || isIsbn13(text),
    isbn10: isIsbn10,
    isbn13: isIsbn13,
    creditcard: isCreditCard,
    ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
    hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
    rgbcolor: (text) => rgb.test(text),
    byte: (text) => base64.test(text),
    password: () => true,
    date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isTime(`${text}T00:00:00Z`),
    duration: (text) => parseFormattedDuration(text) !== undefined,
    datetime: isTime,
    "date-time": isTime,
    "k8s-short-name": (text) => text.length <= 63 && shortName.test(text),
    "k8s-long-name": (text) => text.length <= 253 && longName.test(text),
  }),
);

/** Whether the text has the format; formats nobody knows are taken as they come. */
export function hasFormat(format: string, text: string): boolean {
  const check = formats.get(format) ?? formats.get(format.replace(/-/g, ""));
  return check ? check(text) : true;
}

/** Whether anything is known of the format. */
export function isFormat(format: string): boolean {
  return formats.has(format) || formats.has(format.replace(/-/g, ""));
}

function isTime(text: string): boolean {
  try {
    parseTime(text.toUpperCase());
    return true;
  } catch {
    return false;
  }
}

function isRequestUri(text: string): boolean {
  if (text.startsWith("/")) return !/[\s]/.test(text);
  try {
    new URL(text);
    return true;
  } catch {
    return false;
  }
}

function isHostname(text: string): boolean {
  if (text.length === 0 || text.length > 255) return false;
  return hostname.test(text) && text.split(".").every((label) => label.length <= 63);
}

function isCidr(text: string): boolean {
  const slash = text.indexOf("/");
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(bits)) return false;
  if (isIPv4(address)) return Number(bits) <= 32;
  return isIPv6(address) && Number(bits) <= 128;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === "X" ? 10 : Number(digits[i]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 13; i++) sum += (i % 2 ? 3 : 1) * Number(digits[i]);
  return sum % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D/g, "");
  if (digits.length < 13 || digits.length > 19) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let digit = Number(digits[digits.length - 1 - i]);
    if (i % 2) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 === 0;
}
