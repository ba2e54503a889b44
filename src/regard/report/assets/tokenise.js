// The tokeniser's rule, a second time: rule.py is the first. Every class of characters comes from there, so that the
// browser's own edition of Unicode has no say; a test compares the two on thousands of texts.

class Tokeniser {
  constructor({ rule, classes, lower, new: unknown, same }) {
    const source = rule.replace(/«(\w+)»/gu, (_, name) => characterClass(classes[name]));
    this.find = new RegExp(source, "gu");
    this.lower = new Map(lower.map(([code, form]) => [String.fromCodePoint(code), form]));
    this.same = new Map(same);
    // NFC only between characters that Python's edition does not know: to it they are what they are.
    this.known = unknown.length ? new RegExp(`[^${characterClass(unknown).slice(1)}+`, "gu") : /[^]+/gu;
  }

  normalise(piece) {
    if (/^[\x21-\x7e]*$/.test(piece)) return piece.toLowerCase();
    let lowered = "";
    for (const character of piece) lowered += this.lower.get(character) ?? character;
    let same = "";
    for (const character of lowered) same += this.same.get(character) ?? character;
    return same.replace(this.known, (run) => run.normalize("NFC"));
  }

  // Places count characters, as Python does; `from` and `to` count UTF-16 units, as the browser does.
  tokens(text) {
    const tokens = [];
    const wide = /[\ud800-\udbff][\udc00-\udfff]/.test(text);
    let at = 0, seen = 0;
    const place = (unit) => {
      if (!wide) return unit;
      for (; at < unit; at++) {
        const code = text.charCodeAt(at);
        const next = text.charCodeAt(at + 1);
        if (!(code >= 0xd800 && code < 0xdc00 && next >= 0xdc00 && next < 0xe000)) seen++;
      }
      return seen;
    };
    for (const match of text.matchAll(this.find)) {
      const piece = match[1];
      if (piece === undefined) continue;
      const from = match.index, to = from + piece.length;
      tokens.push({ text: this.normalise(piece), start: place(from), end: place(to), from, to });
    }
    return tokens;
  }
}

function characterClass(runs) {
  let source = "[";
  eachRun(runs, (first, last) => {
    source += `\\u{${first.toString(16)}}`;
    if (last > first) source += `-\\u{${last.toString(16)}}`;
  });
  return source + "]";
}
