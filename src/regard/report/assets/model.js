// The table model, as models/table.py and explain/explaining.py have it:
//   weight ∝ exp(attention) over the rows of a text, each time they occur; score = bias + Σ weight · polarity.

class Model {
  constructor({ head, arrays }) {
    this.head = head;
    this.sides = head.sides;
    this.levels = head.levels;
    this.rows = head.levels[head.levels.length - 1];
    this.bias = arrays.get("bias");
    // Rows with equal numbers share a line; packing.py says how they are coded.
    const codes = arrays.get("records"), attention = arrays.get("attention"), kinds = arrays.get("kinds");
    this.lines = attention.length;
    this.line = new Uint32Array(this.rows);
    let alone = codes.reduce((most, code) => Math.max(most, code), 0);
    for (let row = 0; row < this.rows; row++) this.line[row] = codes[row] ? codes[row] - 1 : alone++;
    this.attention = Float32Array.from(this.line, (line) => attention[line]);
    this.kinds = Uint16Array.from(this.line, (line) => kinds[line]);
    this.polarity = arrays.get("polarity"); // of lines, one side after another
    this.counts = arrays.get("counts"); // of lines, one class after another
    this.totals = new Uint32Array(this.rows);
    for (let k = 0; k < head.labels.length; k++) for (let row = 0; row < this.rows; row++) this.totals[row] += this.countOf(row, k);
    this.top = this.attention.reduce((a, b) => Math.max(a, b), -Infinity);
    this.tokeniser = new Tokeniser(head.alphabet);
    this.words = head.words === "" ? [] : head.words.split("\n");
    this.rowOf = new Map(this.words.map((word, row) => [word, row]));
    this.phrases = head.levels.slice(2).map((_, level) => {
      const sizes = arrays.get(`sizes${level}`), last = arrays.get(`steps${level}`);
      const starts = new Uint32Array(sizes.length + 1), prefix = new Uint32Array(last.length);
      for (let p = 0, at = 0; p < sizes.length; p++) {
        const stop = at + sizes[p];
        for (let sum = 0; at < stop; at++) {
          last[at] = sum += last[at];
          prefix[at] = p + head.levels[level];
        }
        starts[p + 1] = at;
      }
      return { starts, last, prefix };
    });
  }

  polarityOf(row, side) {
    return this.polarity[side * this.lines + this.line[row]];
  }

  countOf(row, k) {
    return this.counts[k * this.lines + this.line[row]];
  }

  name(row) {
    for (let level = this.levels.length - 2; level > 0; level--) {
      if (row >= this.levels[level]) {
        const { prefix, last } = this.phrases[level - 1];
        const at = row - this.levels[level];
        return `${this.name(prefix[at])} ${this.words[last[at]]}`;
      }
    }
    return this.words[row];
  }

  phraseRow(level, prefix, word) {
    const { starts, last } = this.phrases[level];
    const p = prefix - this.levels[level];
    let low = starts[p], high = starts[p + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (last[middle] < word) low = middle + 1;
      else high = middle;
    }
    return low < starts[p + 1] && last[low] === word ? this.levels[level + 1] + low : -1;
  }

  // Every occurrence of a row, level by level, with the tokens that it covers.
  places(tokens) {
    const words = tokens.map((token) => this.rowOf.get(token.text) ?? -1);
    const places = [];
    words.forEach((row, i) => row >= 0 && places.push({ row, first: i, last: i + 1 }));
    let prefix = words;
    for (let level = 0; level < this.phrases.length; level++) {
      const gap = level + 1, grams = new Array(tokens.length).fill(-1);
      for (let i = 0; i + gap < tokens.length; i++) {
        if (prefix[i] < 0 || words[i + gap] < 0) continue;
        grams[i] = this.phraseRow(level, prefix[i], words[i + gap]);
        if (grams[i] >= 0) places.push({ row: grams[i], first: i, last: i + gap + 1 });
      }
      prefix = grams;
    }
    return places;
  }

  // `slower` is λ over the λ of the training; `sharpness` 0 is softmax, 1 is hardmax; `label` is a class to explain.
  explain(text, { slower = 1, sharpness = 0, label = null } = {}) {
    if (!this.head.exact) throw new Error("This model reads words in their surroundings, which the page cannot do; predict with Python.");
    const tokens = this.tokeniser.tokens(text);
    const places = this.places(tokens);
    const weights = weigh(places.map(({ row }) => (this.attention[row] - this.top) / slower), sharpness);
    const scores = Array.from(this.bias, (bias, side) => {
      let sum = 0;
      places.forEach(({ row }, i) => (sum += weights[i] * this.polarityOf(row, side)));
      return bias + sum;
    });
    const side = this.sides === 1 ? 0 : label ?? scores.indexOf(Math.max(...scores));
    const parts = places.map((place, i) => ({ ...place, attention: this.attention[place.row], weight: weights[i], polarity: this.polarityOf(place.row, side) }));
    return this.taken(text, tokens, parts, { scores, side });
  }

  // A text as the report's maker found it, for a model whose words do not speak the same in every text.
  told({ text, prediction, probability, parts: columns }) {
    const predicted = this.head.labels.indexOf(prediction), side = this.sides === 1 ? 0 : predicted;
    const [rows, first, last, attention, weight, polarity] = columns;
    const parts = rows.map((row, i) => ({ row, first: first[i], last: last[i], attention: attention[i], weight: weight[i], polarity: polarity[i] }));
    return { ...this.taken(text, this.tokeniser.tokens(text), parts, { side }), predicted, chance: probability };
  }

  // Everything about a text that follows from its parts; with the scores also the prediction.
  taken(text, tokens, found, { scores = null, side }) {
    const times = new Map();
    for (const { row } of found) times.set(row, (times.get(row) ?? 0) + 1);
    const parts = found.map((part) => ({ ...part, times: times.get(part.row), contribution: part.weight * part.polarity }));
    const all = { text, tokens, parts, side, speaksFor: this.sides === 1 ? 1 : side, words: shared(tokens, parts) };
    if (scores === null) return all;
    const chances = probabilities(scores), predicted = this.sides === 1 ? Number(scores[0] > 0) : scores.indexOf(Math.max(...scores));
    const residual = exactSum([scores[side], -this.bias[side], ...parts.map((part) => -part.contribution)]);
    return { ...all, scores, chances, predicted, chance: chances[predicted], residual };
  }

  // What Python's explain says, for tests and for the curious.
  predict(text) {
    const found = this.explain(String(text));
    return {
      prediction: this.head.classes[found.predicted],
      probabilities: Object.fromEntries(this.head.labels.map((label, k) => [label, found.chances[k]])),
      tokens: found.words.map(({ text, start, end, attention, weight, polarity, contribution }) => (
        { text, start, end, attention, weight, polarity, contribution })),
      residual: found.residual,
    };
  }
}

// Each part in equal shares to its words; attention and polarity are those of the word's own row.
function shared(tokens, parts) {
  const words = tokens.map((token) => ({ ...token, row: -1, attention: null, weight: 0, polarity: null, contribution: 0 }));
  for (const part of parts) {
    const size = part.last - part.first;
    if (size === 1) {
      const { row, attention, polarity } = part;
      Object.assign(words[part.first], { row, attention, polarity });
    }
    for (let i = part.first; i < part.last; i++) {
      words[i].weight += part.weight / size;
      words[i].contribution += part.contribution / size;
    }
  }
  return words;
}

// Softmax, and from there on entmax: at sharpness t a row is silent when the loudest is louder by (1 − t)/t or more.
// t = 1/2 is sparsemax and t = 1 hardmax, where the loudest share the floor.
function weigh(scores, sharpness) {
  if (!scores.length) return [];
  const top = scores.reduce((a, b) => Math.max(a, b));
  let weights;
  if (sharpness <= 0) weights = scores.map((score) => Math.exp(score - top));
  else if (sharpness >= 1) weights = scores.map((score) => Number(score === top));
  else weights = entmax(scores.map((score) => score - top), sharpness / (1 - sharpness));
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / sum);
}

// weight = max(0, 1 + power · (score − threshold))^(1/power), as power → 0: exp; the threshold makes the sum one.
function entmax(scores, power) {
  const at = (threshold) => scores.map((s) => Math.max(0, 1 + power * (s - threshold)) ** (1 / power));
  let low = 0, high = (1 - scores.length ** -power) / power;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (at(middle).reduce((a, b) => a + b) >= 1) low = middle;
    else high = middle;
  }
  return at(low);
}

function probabilities(scores) {
  const all = scores.length === 1 ? [-scores[0] / 2, scores[0] / 2] : scores;
  const top = all.reduce((a, b) => Math.max(a, b));
  const exps = all.map((score) => Math.exp(score - top));
  const sum = exps.reduce((a, b) => a + b);
  return exps.map((e) => e / sum);
}

// A sum rounded once, at the end (Shewchuk), as Python's math.fsum.
function exactSum(numbers) {
  const partials = [];
  for (let x of numbers) {
    let kept = 0;
    for (let y of partials) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y, low = y - (high - x);
      if (low) partials[kept++] = low;
      x = high;
    }
    partials.length = kept;
    partials.push(x);
  }
  return partials.reduceRight((sum, x) => sum + x, 0);
}
