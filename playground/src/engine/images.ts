/** Images of classes, and test images made from them by inverting two pixels. */

import { Generator } from "./random";

export type Image = readonly number[]; // +1 where drawn, -1 elsewhere, row by row

export const LETTERS: readonly (readonly [string, string])[] = [
  ["O", "##### #...# #...# #...# #####"],
  ["N", "#...# ##..# #.#.# #..## #...#"],
  ["L", "#.... #.... #.... #.... #####"],
  ["X", "#...# .#.#. ..#.. .#.#. #...#"],
];

export const MORE_LETTERS: readonly (readonly [string, string])[] = [
  ["T", "##### ..#.. ..#.. ..#.. ..#.."],
  ["V", "#...# #...# #...# .#.#. ..#.."],
  ["H", "#...# #...# ##### #...# #...#"],
  ["C", ".#### #.... #.... #.... .####"],
];

export const TESTS_PER_CLASS = 10;

export const readImage = (drawing: string): Image =>
  [...drawing.replace(/\s/g, "")].map((mark) => (mark === "#" ? 1 : -1));

/** Return rows of # and . */
export function drawnRows(image: Image, side: number): string[] {
  const marks = image.map((spin) => (spin > 0 ? "#" : "."));
  return Array.from({ length: side }, (_, row) =>
    marks.slice(row * side, (row + 1) * side).join(""),
  );
}

/** Return the image in the middle of a larger or smaller square. */
export function resized(image: Image, from: number, to: number): Image {
  const start = Math.floor((to - from) / 2);
  return Array.from({ length: to * to }, (_, place) => {
    const [row, column] = [Math.floor(place / to) - start, (place % to) - start];
    const isInside = row >= 0 && column >= 0 && row < from && column < from;
    return isInside ? image[row * from + column]! : -1;
  });
}

/** Return distinct images with two pixels inverted; stream 2**20 + number of the class. */
export function testImages(image: Image, seed: number, classNumber: number): Image[] {
  const generator = new Generator(seed, 2 ** 20 + classNumber);
  const seen = new Set<number>();
  const images: Image[] = [];
  while (images.length < TESTS_PER_CLASS) {
    const [a, b] = [generator.below(image.length), generator.below(image.length)];
    const pair = Math.min(a, b) * image.length + Math.max(a, b);
    if (a === b || seen.has(pair)) continue;
    seen.add(pair);
    images.push(image.map((spin, place) => (place === a || place === b ? -spin : spin)));
  }
  return images;
}
