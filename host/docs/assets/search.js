// The search of a site without a server: what `query.rs` and `results.rs` do on a host. `passages` is
// in search-index.js: a list of [address, page, heading, text].

const around = 110;
const typed = new URLSearchParams(location.search).get('q') ?? '';
const trimmed = typed
  .slice(0, 200)
  .toLowerCase()
  .split(/\s+/)
  .map((word) => word.replace(/^["'`()[\]{},.;:?!]+|["'`()[\]{},.;:?!]+$/g, ''));
const words = [...new Set(trimmed.filter((word) => word))].slice(0, 8);

const isLetter = (letter) => /[\p{L}\p{N}]/u.test(letter ?? '');

// Where words of a text begin with this one.
function places(text, word) {
  const found = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    if (!isLetter(text[at - 1])) found.push(at);
  }
  return found;
}

// How much a text mentions a word: a word that begins with it counts once, the whole word twice.
function mentions(text, word) {
  const counts = places(text, word).slice(0, 4);
  return counts.reduce((sum, at) => sum + (isLetter(text[at + word.length]) ? 1 : 2), 0);
}

// How many words a passage has, and how much they count in it.
function ranked(passage) {
  const [, page, heading, text] = passage.map((field) => field.toLowerCase());
  const weights = words.map(
    (word) => 6 * mentions(page, word) + 8 * mentions(heading, word) + mentions(text, word),
  );
  // A page that explains a thing comes before a reference that lists it.
  const quarters = passage[0].startsWith('reference/') ? 3 : 4;
  const weight = Math.floor((weights.reduce((sum, one) => sum + one, 0) * quarters) / 4);
  return { passage, weight, has: weights.filter((one) => one > 0).length };
}

function find() {
  const all = passages.map(ranked).filter(({ has }) => has > 0);
  all.sort((one, other) => other.has - one.has || other.weight - one.weight);
  return all.filter(({ has }) => has === all[0].has).slice(0, 25);
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// The part of a text around the first of the words: whole words, as far as there are spaces.
function excerpt(text) {
  const folded = text.toLowerCase();
  const found = words.flatMap((word) => places(folded, word).slice(0, 1));
  const first = found.length ? Math.min(...found) : 0;
  const begin = Math.max(0, first - around);
  const end = first + around;
  const before = begin > 0 ? text.slice(begin, first).replace(/^\S* /, '') : text.slice(0, first);
  const after = end < text.length ? text.slice(first, end).replace(/ \S*$/, '') : text.slice(first);
  return marked(before + after);
}

// A paragraph with the words marked.
function marked(text) {
  const folded = text.toLowerCase();
  const found = words.flatMap((word) => places(folded, word).map((at) => [at, at + word.length]));
  found.sort(([one, oneEnd], [other, otherEnd]) => one - other || otherEnd - oneEnd);
  const made = document.createElement('p');
  let rest = 0;
  for (const [begin, end] of found) {
    if (begin < rest) continue;
    made.append(text.slice(rest, begin), element('mark', text.slice(begin, end)));
    rest = end;
  }
  made.append(text.slice(rest));
  return made;
}

function result({ passage: [address, page, heading, text] }) {
  const made = document.createElement('li');
  const link = element('a', heading);
  link.href = address;
  made.append(link, ' ', element('span', page, 'soft'), excerpt(text));
  return made;
}

const found = words.length ? find() : [];
const said = found.length === 1 ? '1 result' : `${found.length} results`;
const none = words.length ? 'No page has these words.' : 'Type one or more words.';
document.getElementById('q').value = typed.slice(0, 200);
document.getElementById('said').textContent = found.length ? said : none;
document.getElementById('results').append(...found.map(result));
