/** Addresses of endpoints: not every address can be one. */
import { parseAddress } from "../checks/addresses.ts";
import type { Errors } from "../checks/errors.ts";

export function checkEndpointAddress(path: string, text: string, errors: Errors): void {
  const address = parseAddress(text);
  if (!address) {
    errors.invalid(path, text, "must be a valid IP address");
    return;
  }
  const { bytes, family } = address;
  const [a = 0, b = 0, c = 0] = bytes;
  const four = family === 4;
  const zeros = (from: number, to: number) => bytes.slice(from, to).every((byte) => byte === 0);
  if (zeros(0, bytes.length)) errors.invalid(path, text, `may not be unspecified (${text})`);
  if (four ? a === 127 : zeros(0, 15) && bytes[15] === 1)
    errors.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (four ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80)
    errors.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  if (four ? a === 224 && b === 0 && c === 0 : a === 0xff && (b & 0x0f) === 0x02)
    errors.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}
