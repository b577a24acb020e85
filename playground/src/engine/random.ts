/** Random numbers: xoshiro128** of Blackman and Vigna, one stream for each replica. */

export class Generator {
  private a: number;
  private b: number;
  private c: number;
  private d: number;

  /** Streams of one seed differ; equal seed and stream give equal numbers. */
  constructor(seed: number, stream: number) {
    let state = (Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul((stream + 1) | 0, 0x85ebca77)) | 0;
    const word = (): number => {
      state = (state + 0x9e3779b9) | 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
      return z ^ (z >>> 16);
    };
    this.a = word();
    this.b = word();
    this.c = word();
    this.d = word() | 1; // never all zero
  }

  /** Return a whole number from 0 to 2**32 - 1. */
  next(): number {
    const product = Math.imul(this.b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = this.b << 9;
    this.c ^= this.a;
    this.d ^= this.b;
    this.b ^= this.c;
    this.a ^= this.d;
    this.c ^= shifted;
    this.d = (this.d << 11) | (this.d >>> 21);
    return result;
  }

  /** Return 0 or 1. */
  bit(): number {
    return this.next() >>> 31;
  }

  /** Return a whole number from 0 to count - 1, for small counts. */
  below(count: number): number {
    return Math.floor((this.next() / 4294967296) * count);
  }
}
