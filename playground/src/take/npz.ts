/** Named arrays -> the bytes of an .npz archive, as numpy and qubonn read it. */

export type Array1 = Uint8Array | Int32Array;

export interface Part {
  readonly name: string;
  readonly values: Array1;
  readonly shape?: readonly number[]; // a vector unless given
}

/** Return an uncompressed zip file of .npy members. */
export function npz(parts: readonly Part[]): Uint8Array<ArrayBuffer> {
  const files: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const part of parts) {
    const name = new TextEncoder().encode(`${part.name}.npy`);
    const content = npy(part);
    const common = [20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, ...u32(crc32(content))]; // 1 January 1980
    const sizes = [...u32(content.length), ...u32(content.length), ...u16(name.length), 0, 0];
    const header = Uint8Array.from([0x50, 0x4b, 3, 4, ...common, ...sizes]);
    const rest = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...u32(offset)];
    directory.push(Uint8Array.from([0x50, 0x4b, 1, 2, 20, 0, ...common, ...sizes, ...rest]), name);
    files.push(header, name, content);
    offset += header.length + name.length + content.length;
  }
  const listed = joined(directory);
  const count = u16(parts.length);
  const end = [0x50, 0x4b, 5, 6, 0, 0, 0, 0, ...count, ...count];
  const last = Uint8Array.from([...end, ...u32(listed.length), ...u32(offset), 0, 0]);
  return joined([...files, listed, last]);
}

function npy({ values, shape = [values.length] }: Part): Uint8Array {
  const type = values instanceof Uint8Array ? "|u1" : "<i4";
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const text = `{'descr': '${type}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const padded = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  const magic = [0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, ...u16(padded.length)];
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return joined([Uint8Array.from(magic), new TextEncoder().encode(padded), bytes]);
}

const u16 = (n: number): number[] => [n & 255, (n >>> 8) & 255];
const u32 = (n: number): number[] => [...u16(n & 65535), ...u16(n >>> 16)];

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let place = 0;
  for (const piece of pieces) {
    whole.set(piece, place);
    place += piece.length;
  }
  return whole;
}

function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let n = 0; n < 8; n++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
