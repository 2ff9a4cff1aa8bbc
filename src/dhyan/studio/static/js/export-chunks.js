/** What a PNG says of itself: texts put before its pixels. */

const TABLE = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

const AFTER_HEAD = 33; // the signature and the head of a PNG are 33 bytes long

/** The same picture with texts under names. @param {Blob} png @param {Record<string, string>} texts */
export function withTexts(png, texts) {
  const chunks = Object.entries(texts).filter(([, words]) => words).map(([name, words]) =>
    chunk("iTXt", [...new TextEncoder().encode(name), 0, 0, 0, 0, 0, ...new TextEncoder().encode(words)]));
  return new Blob([png.slice(0, AFTER_HEAD), ...chunks, png.slice(AFTER_HEAD)], { type: "image/png" });
}

/** A length, a kind, the bytes, and a check over the last two. */
function chunk(kind, bytes) {
  const body = Uint8Array.from([...new TextEncoder().encode(kind), ...bytes]);
  const made = new DataView(new ArrayBuffer(body.length + 8));
  made.setUint32(0, bytes.length);
  new Uint8Array(made.buffer).set(body, 4);
  made.setUint32(body.length + 4, check(body));
  return made.buffer;
}

function check(bytes) {
  const left = bytes.reduce((value, byte) => TABLE[(value ^ byte) & 0xff] ^ (value >>> 8), 0xffffffff);
  return (left ^ 0xffffffff) >>> 0;
}
