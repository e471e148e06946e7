"use strict";
// The page of the playground. Texts travel in the bodies of requests to this machine and nowhere
// else; nothing is put into storage, addresses or the history.

const SAMPLES = {
  ticket: "My mother Jane Roe bought this phone in Paris on 3 May. The battery died after a week, and the man in the shop " +
    "was rude. Please call her on +49 170 1234567 or write to jane@roe.example.",
  review: "The doctor was kind and explained everything, but I waited two hours in a cold corridor. Terrible film. The " +
    "actors were fine; the story made no sense at all.",
  note: "Our daughter starts school in September. She is afraid of the new teacher and sleeps badly since we moved from " +
    "London to a small village by the sea.",
};
const PAUSE = 180; // milliseconds after the last key
const SVG = "http://www.w3.org/2000/svg";

const at = (id) => document.getElementById(id);
const state = { choices: null, drawn: null, attacked: null, places: new Map(), frontier: null, controllers: {}, timer: 0, open: null };

// -- small helpers ---------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function draw(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const percent = (share) =>
  share >= 0.9995 && share < 1 ? "over 99.9 %"
    : share >= 0.1 ? `${(100 * share).toFixed(share >= 0.995 ? 1 : 0)} %`
      : share > 0 ? `${Number((100 * share).toPrecision(2))} %` : "0 %";
const counted = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

function setting() {
  return {
    mechanism: at("mechanism").value,
    epsilon: Number(at("epsilon-number").value),
    layout: at("layout").checked ? "public" : "tokens",
    public_words: at("public-words").checked,
    identifiers: at("identifiers").checked,
  };
}

const chosen = () => state.choices.mechanisms.find((each) => each.name === at("mechanism").value);

// A later question of the same kind takes the place of one that is still under way.
async function ask(path, body) {
  state.controllers[path]?.abort();
  const controller = new AbortController();
  state.controllers[path] = controller;
  const response = await fetch(`/playground/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: controller.signal,
    cache: "no-store",
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

function problem(error) {
  if (error.name === "AbortError") return;
  at("problem").textContent = error instanceof TypeError
    ? "The service does not answer. Is discreet serve still running?" : `This cannot be tried: ${error.message}.`;
  at("problem").hidden = false;
}

// -- drawing ---------------------------------------------------------------------------------------

function soon() {
  clearTimeout(state.timer);
  state.timer = setTimeout(redraw, PAUSE);
}

async function redraw() {
  clearTimeout(state.timer);
  const text = at("text").value;
  at("text-count").textContent = `${text.length.toLocaleString("en")} of ${state.choices.characters.toLocaleString("en")} characters`;
  at("released-card").setAttribute("aria-busy", "true");
  const now = setting();
  try {
    const drawn = await ask("try", { ...now, text });
    at("problem").hidden = true;
    state.drawn = { ...drawn, setting: now };
    state.places.clear();
    close();
    showWords();
    showGuarantee();
    showIdentifiers();
    prepareAttack();
    await showFrontier(now);
  } catch (error) {
    problem(error);
  } finally {
    if (!state.controllers.try?.signal.aborted) at("released-card").setAttribute("aria-busy", "false");
  }
}

function kindOf(piece) {
  if (piece.kind) return "id";
  const places = [...Array(piece.tokens).keys()].map((step) => piece.first + step);
  const drawn = places.filter((place) => !state.drawn.passed[place]);
  if (!drawn.length) return "public";
  return drawn.every((place) => state.drawn.ids[place] === state.drawn.released[place]) ? "same" : "changed";
}

function described(piece, kind) {
  if (kind === "id") return `${piece.kind} ${piece.text}, replaced by ${piece.out}`;
  if (kind === "public") return `${piece.text}, public`;
  if (kind === "same") return `${piece.text} came out as it was`;
  return `${piece.text} became ${piece.out || "nothing"}`;
}

function showWords() {
  const { pieces, counts } = state.drawn;
  const words = at("words");
  words.replaceChildren();
  for (const piece of pieces) {
    if (piece.space !== undefined) {
      words.append(piece.space.includes("\n") ? make("br") : " ");
      continue;
    }
    const kind = kindOf(piece);
    const word = make("button", { type: "button", class: `word ${kind}`, tabindex: "-1", "aria-label": described(piece, kind) },
      make("span", { class: piece.out ? "out" : "out gone" }, piece.out || "·"), make("span", { class: "in" }, piece.text));
    word.piece = piece;
    words.append(word);
  }
  const first = words.querySelector(".word");
  if (first) first.tabIndex = 0;
  else words.append(make("p", { class: "empty" }, "Nothing yet. Type a sentence, or take one of the examples."));
  at("summary").textContent = !first ? "" : [
    counted(counts.drawn, "word was drawn", "words were drawn"),
    counts.drawn ? `${counts.same.toLocaleString("en")} of them came out as they were` : "",
    counts.passed ? `${counts.passed.toLocaleString("en")} public ones passed` : "",
  ].filter(Boolean).join(", ") + ".";
}

// -- what a word could have become -----------------------------------------------------------------

async function outcomesOf(place) {
  if (!state.places.has(place)) {
    const { ids, released, setting: now } = state.drawn;
    const body = { ...now, word: ids[place], released: released.slice(0, place) };
    const response = await fetch("/playground/outcomes", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), cache: "no-store",
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.detail);
    state.places.set(place, answer);
  }
  return state.places.get(place);
}

const spelled = (id) => (id === state.drawn.unknown ? "a word outside the vocabulary" : state.drawn.words[id]);

function row(label, chance, kind) {
  const bar = make("i");
  bar.style.width = `${Math.max(1, 100 * chance)}%`;
  return make("div", { class: `row ${kind}` }, make("b", {}, label), make("span", {}, percent(chance)), make("div", { class: "bar" }, bar));
}

function outcomeRows(place, outcome) {
  const came = state.drawn.words[state.drawn.released[place]];
  const rows = [make("h4", {}, `${spelled(state.drawn.ids[place])} could have become`)];
  const alike = outcome.likely.length > 1 && outcome.likely[0].chance < 0.001;
  if (alike) return [...rows, make("p", {}, `any of ${(outcome.others + outcome.likely.length).toLocaleString("en")} words, all about alike.`)];
  const unknown = state.drawn.words[state.drawn.unknown];
  for (const { word, chance } of outcome.likely) {
    rows.push(row(word === unknown ? "(the unknown word)" : word, chance, word === came ? "came" : ""));
  }
  const cameFar = !outcome.likely.some(({ word }) => word === came);
  const rest = outcome.draws ? "any other" : `any other of ${outcome.others.toLocaleString("en")}`;
  if (outcome.other > 0) rows.push(row(cameFar ? `${rest}, such as ${came}` : rest, outcome.other, cameFar ? "rest came" : "rest"));
  if (outcome.draws) rows.push(make("p", { class: "note" }, `shares of ${outcome.draws} draws: this law has no formula`));
  return rows;
}

async function open(word) {
  if (state.open === word) return;
  close();
  state.open = word;
  word.classList.add("open");
  word.setAttribute("aria-describedby", "could");
  const { piece } = word, box = at("could");
  let content;
  if (piece.kind) {
    content = [make("h4", {}, `An identifier: ${piece.kind}`),
      make("p", {}, "Its surrogate was drawn without looking at the value: any other of this type had the same chances.")];
  } else {
    const places = [...Array(piece.tokens).keys()].map((step) => piece.first + step);
    const drawn = places.filter((place) => !state.drawn.passed[place]).slice(0, 4);
    if (!drawn.length) {
      content = [make("h4", {}, piece.text), make("p", {}, piece.tokens
        ? "On the public list of function words and marks: it passes unchanged, and the guarantee says so."
        : "Public layout: copied as it is.")];
    } else {
      try {
        const outcomes = await Promise.all(drawn.map(outcomesOf));
        content = outcomes.flatMap((outcome, number) => outcomeRows(drawn[number], outcome));
      } catch (error) {
        problem(error);
        return;
      }
    }
  }
  if (state.open !== word) return;
  box.replaceChildren(...content);
  box.hidden = false;
  place();
}

// Beside its word, wherever that is now.
function place() {
  if (!state.open || at("could").hidden) return;
  const box = at("could");
  const target = state.open.getBoundingClientRect(), size = box.getBoundingClientRect();
  const below = target.bottom + 8 + size.height < window.innerHeight || target.top < size.height + 8;
  box.style.left = `${Math.max(8, Math.min(target.left, window.innerWidth - size.width - 12))}px`;
  box.style.top = `${below ? target.bottom + 8 : target.top - size.height - 8}px`;
}

function close() {
  state.open?.classList.remove("open");
  state.open?.removeAttribute("aria-describedby");
  state.open = null;
  at("could").hidden = true;
}

function move(event) {
  const words = [...at("words").querySelectorAll(".word")];
  const here = words.indexOf(document.activeElement);
  const steps = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: words.length - 1 };
  if (here < 0 || !(event.key in steps)) return;
  event.preventDefault();
  const next = words[Math.max(0, Math.min(words.length - 1, steps[event.key]))];
  words[here].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// -- the attacker ----------------------------------------------------------------------------------

const quick = (name) => name.startsWith("near-words") || name === "uniform";

function prepareAttack() {
  state.controllers.attack?.abort();
  state.attacked = null;
  at("guesses").replaceChildren();
  at("score").textContent = "–";
  at("attack-note").textContent = "";
  const any = state.drawn.counts.drawn > 0, fast = quick(state.drawn.setting.mechanism);
  at("work-out").hidden = fast || !any;
  if (!any) return;
  if (fast) attack();
  else at("attack-note").textContent = "For this mechanism it takes a pass over the law of every word of the vocabulary: up to a minute.";
}

async function attack() {
  const drawn = state.drawn;
  at("work-out").hidden = true;
  if (!quick(drawn.setting.mechanism)) at("attack-note").textContent = "Working it out …";
  try {
    const found = await ask("attack", { ...drawn.setting, released: drawn.released, passed: drawn.passed });
    if (state.drawn === drawn) showGuesses(drawn, found);
  } catch (error) {
    if (error.name !== "AbortError") at("attack-note").textContent = "";
    problem(error);
  }
}

function showGuesses(drawn, found) {
  state.attacked = drawn;
  let right = 0;
  const shown = [];
  for (const piece of drawn.pieces) {
    if (piece.space !== undefined) shown.push(piece.space.includes("\n") ? make("br") : " ");
    else if (piece.kind) shown.push(make("span", { class: "guess surrogate" }, `[${piece.kind}]`));
    for (let place = piece.first; place < piece.first + (piece.tokens || 0); place++) {
      if (place > piece.first) shown.push(" ");
      const guess = found.guesses[place], hit = guess === drawn.ids[place];
      const word = guess === drawn.unknown ? "(unknown)" : found.words[guess];
      if (drawn.passed[place]) {
        shown.push(make("span", { class: "guess known" }, word));
        continue;
      }
      right += hit;
      shown.push(make("span", { class: `guess ${hit ? "right" : "wrong"}` }, word,
        make("span", { class: "hidden" }, hit ? " (right)" : " (wrong)")));
    }
  }
  at("guesses").replaceChildren(...shown);
  // Of two attackers the better one counts: frequencies in public may not be those of this text.
  const { drawn: all, same } = drawn.counts, best = Math.max(right, same);
  at("score").textContent = `${best} of ${all} right (${percent(best / all)})`;
  const plain = same > right
    ? `Here it is better to take every word for what came out: ${same} of ${all} are right then, ${right} of these guesses. `
    : "";
  at("attack-note").textContent = plain +
    "Marked ✓: guessed right. Struck through: wrong. Public words are known anyway and are not counted.";
}

// -- guarantee, identifiers, frontier --------------------------------------------------------------

// 10^67.7 as people write it.
function powers(tag, line) {
  const parts = line.split(/10\^([\d.]*\d)/);
  return make(tag, {}, ...parts.flatMap((part, number) => (number % 2 ? ["10", make("sup", {}, part)] : [part])));
}

function showGuarantee() {
  const { guarantee, counts } = state.drawn;
  at("guarantee-word").replaceChildren(...powers("p", guarantee.in_words[0]).childNodes);
  at("epsilon-about").textContent = guarantee.word.metric
    ? "(loss allowed for each unit of distance)" : "(privacy loss allowed for a word)";
  const readings = guarantee.in_words.filter((line) => line.startsWith("  "));
  const whole = counts.drawn ? guarantee.whole_in_words : ["No word was drawn, so there is nothing to add up."];
  at("guarantee-whole").replaceChildren(...whole.map((line) => powers("p", line.replace("The longest text", "This text"))));
  at("weak").hidden = !guarantee.weak;
  at("weak").textContent = guarantee.weak ? `Careful: ${guarantee.weak}. discreet sanitize would ask before it releases anything so.` : "";
  const more = [];
  if (readings.length) more.push(make("ul", {}, ...readings.map((line) => powers("li", line.trim()))));
  if (guarantee.word.scope) more.push(make("p", {}, `Scope: ${guarantee.word.scope}.`));
  more.push(make("p", {}, "Treated as public:"), make("ul", {}, ...guarantee.word.public.map((each) => make("li", {}, each))));
  more.push(...guarantee.word.caveats.map((each) => make("p", {}, `Caveat: ${each}.`)));
  at("guarantee-more").replaceChildren(...more);
}

function showIdentifiers() {
  const found = state.drawn.pieces.filter((piece) => piece.kind);
  at("identifiers-card").hidden = !found.length;
  at("identifiers-rows").replaceChildren(...found.map((piece) => make("tr", {},
    make("td", {}, make("span", { class: "type" }, piece.kind)), make("td", {}, piece.text), make("td", {}, piece.out))));
}

async function showFrontier(now) {
  const key = `${now.mechanism} ${now.public_words}`;
  if (at("frontier").dataset.of !== key) {
    at("frontier").dataset.of = key;
    at("frontier").replaceChildren();
    at("frontier-note").textContent = "Drawing the picture …";
  }
  try {
    state.frontier = [await ask("frontier", now), now];
    picture(...state.frontier);
  } catch (error) {
    problem(error);
  }
}

function picture({ points, guess, least: atLeast, near, contextual, averaged }, now) {
  if (!points.length) {
    at("frontier").replaceChildren();
    at("frontier-note").textContent =
      `What comes out does not depend on the words: the best guess is the commonest word, right ${percent(guess)} of the time.`;
    return;
  }
  // As wide as its place, so that letters are as large as elsewhere.
  const [width, left, right, top, bottom] = [Math.max(280, at("frontier").clientWidth), 46, 14, 26, 44];
  const height = Math.round(130 + 0.26 * width);
  const { least, most } = state.choices.epsilon;
  const x = (epsilon) => left + ((epsilon - least) / (most - least)) * (width - left - right);
  const y = (share) => top + (1 - share) * (height - top - bottom);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const said = atLeast
    ? `At epsilon ${now.epsilon} a word comes out as it was ${percent(guess)} of the time, and the best guess is right at least so often.`
    : `At epsilon ${now.epsilon} the best guess at a word is right ${percent(guess)} of the time` +
      (near === null ? "." : `, and a word becomes one of its near words ${percent(near)} of the time.`);
  svg.setAttribute("aria-label", `Epsilon from ${least} to ${most} against how often the best guess is right. ${said}`);
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      draw("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`));
  }
  for (const epsilon of [2, 4, 6, 8, 10, 12, 14, 16]) {
    svg.append(draw("text", { x: x(epsilon), y: height - bottom + 18, "text-anchor": "middle" }, epsilon));
  }
  svg.append(draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "epsilon"));
  const all = [...points.filter((each) => each.epsilon !== now.epsilon), { epsilon: now.epsilon, guess, near }]
    .sort((one, other) => one.epsilon - other.epsilon);
  const line = (name) => all.map((each) => `${x(each.epsilon).toFixed(1)},${y(each[name]).toFixed(1)}`).join(" ");
  const last = points[points.length - 1];
  // Under the letters, so that it strikes none of them through.
  const here = x(now.epsilon);
  svg.append(draw("line", { class: "now", x1: here, x2: here, y1: top - 4, y2: height - bottom }));
  if (near !== null) {
    svg.append(draw("polyline", { class: "near-line", points: line("near") }),
      draw("text", { class: "near-text", x: x(last.epsilon), y: y(last.near) + 19, "text-anchor": "end" }, "a word stays near"));
  }
  svg.append(draw("polyline", { class: "guess-line", points: line("guess") }),
    draw("text", { class: "guess-text", x: x(last.epsilon), y: y(last.guess) + (last.guess > 0.85 ? 19 : -10), "text-anchor": "end" },
      atLeast ? "the best guess is right at least" : "the best guess is right"));
  svg.append(...(near === null ? [] : [draw("circle", { class: "now-near", cx: here, cy: y(near), r: 5.5 })]),
    draw("circle", { class: "now-guess", cx: here, cy: y(guess), r: 5.5 }),
    draw("text", { class: "now-text", x: here, y: 14, "text-anchor": now.epsilon > 14 ? "end" : now.epsilon < 3 ? "start" : "middle" }, `now: ${atLeast ? "at least " : ""}${percent(guess)}`));
  at("frontier").replaceChildren(svg);
  const how = atLeast ? "The best guess itself takes a pass over all pairs of words: work it out above. By public word frequencies"
    : averaged ? "On average over public texts, by public word frequencies"
    : `Computed exactly, by public word frequencies${contextual ? ", for the first word of a text" : ""}`;
  at("frontier-note").textContent = `${said} ${how}; real texts use fewer words, so more of theirs may be guessed.`;
}

// -- controls --------------------------------------------------------------------------------------

function aboutMechanism() {
  const mechanism = chosen();
  at("mechanism-about").textContent = `${mechanism.summary} Vocabulary: ${mechanism.space}.`;
  for (const id of ["epsilon", "epsilon-number"]) at(id).disabled = !mechanism.epsilon;
  at("epsilon-field").classList.toggle("off", !mechanism.epsilon);
}

function listen() {
  at("text").addEventListener("input", soon);
  at("again").addEventListener("click", redraw);
  at("work-out").addEventListener("click", attack);
  at("mechanism").addEventListener("change", () => { aboutMechanism(); redraw(); });
  at("epsilon").addEventListener("input", () => { at("epsilon-number").value = at("epsilon").value; soon(); });
  at("epsilon-number").addEventListener("input", () => {
    if (!at("epsilon-number").checkValidity() || !at("epsilon-number").value) return;
    at("epsilon").value = at("epsilon-number").value;
    soon();
  });
  at("epsilon-number").addEventListener("change", () => {
    const { least, most } = state.choices.epsilon;
    const wanted = Number(at("epsilon-number").value) || Number(at("epsilon").value);
    at("epsilon-number").value = Math.round(10 * Math.max(least, Math.min(most, wanted))) / 10;
    at("epsilon").value = at("epsilon-number").value;
    soon();
  });
  for (const id of ["layout", "public-words", "identifiers"]) at(id).addEventListener("change", redraw);
  for (const sample of document.querySelectorAll("[data-sample]")) {
    sample.addEventListener("click", () => { at("text").value = SAMPLES[sample.dataset.sample]; redraw(); });
  }
  const words = at("words");
  words.addEventListener("pointerover", (event) => event.pointerType === "mouse" && event.target.closest(".word") && open(event.target.closest(".word")));
  words.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && close());
  words.addEventListener("focusin", (event) => event.target.matches(".word:focus-visible") && open(event.target));
  words.addEventListener("focusout", close);
  words.addEventListener("click", (event) => event.target.closest(".word") && open(event.target.closest(".word")));
  words.addEventListener("keydown", move);
  document.addEventListener("keydown", (event) => event.key === "Escape" && close());
  document.addEventListener("pointerdown", (event) => !event.target.closest(".word") && close());
  window.addEventListener("scroll", place, { passive: true });
  window.addEventListener("resize", () => { close(); if (state.frontier) picture(...state.frontier); });
}

async function start() {
  try {
    state.choices = await (await fetch("/playground/choices", { cache: "no-store" })).json();
  } catch (error) {
    problem(error);
    return;
  }
  at("mechanism").append(...state.choices.mechanisms.map((each) => make("option", { value: each.name }, each.title)));
  at("text").value = SAMPLES.ticket;
  aboutMechanism();
  listen();
  await redraw();
}

start();
