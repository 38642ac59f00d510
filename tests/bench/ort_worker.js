// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's Node package behind the protocol of bench_worker. Usage: node ort_worker.js PACKAGE MODEL THREADS
// PACKAGE is the folder node_modules/onnxruntime-node.
const ort = require(process.argv[2]);

async function main() {
  const session = await ort.InferenceSession.create(process.argv[3], {
    intraOpNumThreads: Number(process.argv[4]), interOpNumThreads: 1, graphOptimizationLevel: 'all'});
  const shape = session.inputMetadata[0].shape.map((size) => (typeof size === 'number' && size > 0 ? size : 1));
  const numbers = Float32Array.from({length: shape.reduce((a, b) => a * b)}, (_, i) => Math.sin(i * 12.9898) % 1);
  const feeds = {[session.inputNames[0]]: new ort.Tensor('float32', numbers, shape)};
  for (let i = 0; i < 3; ++i) await session.run(feeds);
  console.log('ready', require(process.argv[2] + '/package.json').version);
  for await (const line of require('readline').createInterface({input: process.stdin})) {
    const end = performance.now() + Number(line);
    const runs = [];
    while (runs.length === 0 || performance.now() < end) {
      const start = performance.now();
      await session.run(feeds);
      runs.push(performance.now() - start);
    }
    runs.sort((a, b) => a - b);
    console.log(runs.length, runs[0].toFixed(5), runs[runs.length >> 1].toFixed(5), 1);
  }
}
main();
