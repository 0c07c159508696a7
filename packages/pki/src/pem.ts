/** PEM: the armor around DER. */

/** DER as a PEM block with this label, such as `CERTIFICATE`. */
export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

const pemBlock = /-----BEGIN [^-]+-----([^-]*)-----END [^-]+-----/;

/** The content of the first block. Text before it is ignored. */
export function pemBytes(text: string): Uint8Array {
  const content = pemBlock.exec(text)?.[1] ?? text;
  return Buffer.from(content.replace(/\s+/g, ""), "base64");
}
