// From the page's text to numbers: base64, deflate, byte planes. packing.py writes it and says why.

const TYPES = new Map([["f4", Float32Array], ["f8", Float64Array], ["u2", Uint16Array], ["u4", Uint32Array]]);

async function unpack(text) {
  const squeezed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([squeezed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const arrays = new Map();
  let at = 4 + size;
  for (const [name, [kind, length]] of Object.entries(head.arrays)) {
    const array = new (TYPES.get(kind))(length);
    fromPlanes(bytes, at, new Uint8Array(array.buffer), array.BYTES_PER_ELEMENT, length);
    at += array.byteLength;
    arrays.set(name, array);
  }
  return { head, arrays };
}

function fromPlanes(bytes, at, out, width, length) {
  for (let plane = 0; plane < width; plane++) {
    for (let i = 0, to = plane; i < length; i++, to += width) out[to] = bytes[at++];
  }
}

// Runs are the gap since the last run, the length, and so on.
function eachRun(runs, visit) {
  for (let i = 0, at = 0; i < runs.length; i += 2) {
    at += runs[i];
    visit(at, at + runs[i + 1] - 1);
    at += runs[i + 1];
  }
}
