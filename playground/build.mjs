/**
 * Build the page: node build.mjs writes it, node build.mjs --check compares it with the sources,
 * node build.mjs --tests bundles the tests for node's test runner.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PAGE = here("../src/qubonn/playground/playground.html");
const MOST_BYTES = 300_000;

const options = { bundle: true, minify: true, write: false, target: "es2022", charset: "utf8" };

async function bundled(path, more = {}) {
  const { outputFiles } = await esbuild.build({ ...options, entryPoints: [here(path)], ...more });
  return outputFiles[0].text.trimEnd();
}

/** Return the page: template, style and script in one file; the worker is text in the script. */
async function page() {
  const worker = await bundled("src/worker.ts", { format: "iife" });
  const define = { WORKER_SOURCE: JSON.stringify(worker) };
  const script = await bundled("src/page/main.ts", { format: "iife", define });
  const style = await bundled("src/page/style.css");
  const template = await readFile(here("src/page/page.html"), "utf8");
  const parts = { "/*style*/": style, "/*script*/": script.replaceAll("</script", "<\\/script") };
  return template.replace(/\/\*(style|script)\*\//g, (mark) => parts[mark]);
}

async function tests() {
  await mkdir(here(".build"), { recursive: true });
  await esbuild.build({
    ...options,
    minify: false,
    write: true,
    entryPoints: ["engine", "take", "page"].map((name) => here(`tests/${name}.test.ts`)),
    outdir: here(".build"),
    outExtension: { ".js": ".mjs" },
    platform: "node",
    format: "esm",
    packages: "external",
  });
}

const [task = "--write"] = process.argv.slice(2);
if (task === "--tests") await tests();
else {
  const text = await page();
  if (Buffer.byteLength(text) > MOST_BYTES) throw new Error(`the page has ${text.length} bytes`);
  if (task === "--write") await writeFile(PAGE, text);
  else if ((await readFile(PAGE, "utf8")) !== text) {
    console.error("playground.html is not what its sources build: run npm run build");
    process.exitCode = 1;
  }
}
