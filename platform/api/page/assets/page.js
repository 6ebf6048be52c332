// Keeps a page up to date. Everything it shows was made on the server; without it the pages say the same,
// as of when they were loaded.
"use strict";

const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

document.documentElement.classList.add("scripts");
if (document.body.dataset.job !== undefined) jobPage();
else if (find("#jobs")) listPage();

// swap replaces what is in an element, and keeps the focus where it was.
function swap(element, html) {
  const focused = element.contains(document.activeElement) && document.activeElement;
  element.innerHTML = html;
  if (!focused) return;
  const same = (e) => (focused.id ? e.id === focused.id : e.getAttribute("href") === focused.getAttribute("href"));
  all("a, button, [tabindex]", element).find(same)?.focus();
}

// every calls step again and again: after as many milliseconds as it returns, or never after undefined. Where
// nobody looks at the page it waits. What it returns has the next call made at once.
function every(step) {
  let timer, busy = false, again = false, ended = false;
  async function run() {
    clearTimeout(timer);
    if (busy) { again = true; return; }
    if (document.hidden || ended) return;
    busy = true;
    const delay = await step();
    busy = false;
    if (delay === undefined) ended = true;
    else timer = setTimeout(run, again ? 0 : delay);
    again = false;
  }
  document.addEventListener("visibilitychange", run);
  run();
  return run;
}

async function get(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(15000) });
  if (!answer.ok) throw Object.assign(new Error(), { status: answer.status });
  return answer;
}

function listPage() {
  const jobs = find("#jobs");
  let first = true;
  every(async () => {
    if (first) { first = false; return 5000; }
    try {
      const page = new DOMParser().parseFromString(await (await get(location.href)).text(), "text/html");
      const html = find("#jobs", page).innerHTML;
      if (html !== jobs.innerHTML) swap(jobs, html);
    } catch { /* the next time */ }
    return 5000;
  });
}

function jobPage() {
  const log = logPane();
  const rates = rateColumn();
  tooltips();
  if (!("live" in document.body.dataset)) return;
  const connection = find("#connection");
  let failures = 0;
  const poll = every(async () => {
    const have = all("[data-hash]").map((e) => ["have", e.id + "." + e.dataset.hash]);
    const asked = log.position();
    try {
      const query = new URLSearchParams([...have, ...asked.query]);
      const news = await (await get(location.pathname + "/live?" + query)).json();
      failures = 0;
      connection.hidden = true;
      news.fragments.forEach(place);
      rates();
      log.add(asked, news.log);
      if (news.over) {
        log.over();
        return undefined;
      }
      return news.log.more ? 0 : 1000;
    } catch (error) {
      connection.textContent = error.status === 404 ? "This job is no longer there." : "The server does not answer. Trying again…";
      connection.hidden = false;
      return error.status === 404 ? undefined : Math.min(1000 * 2 ** failures++, 10000);
    }
  });
  log.switchable(poll);
}

// place puts a fragment where it belongs.
function place(fragment) {
  let element = document.getElementById(fragment.id);
  if (!element) {
    element = document.createElement("div");
    element.id = fragment.id;
    document.getElementById(fragment.in).append(element);
  }
  element.dataset.hash = fragment.hash;
  swap(element, fragment.html);
}

// logPane is the lines of the log. While Follow is checked it shows the last one; scrolling up ends that.
function logPane() {
  const pane = find("#log"), label = find("#follow"), follow = find("input", label);
  const most = 3000; // lines that are kept
  const live = "live" in document.body.dataset;
  let fixed = "fixed" in pane.dataset, turn = 0, top = 0;
  const toEnd = () => { pane.scrollTop = pane.scrollHeight; top = pane.scrollTop; };
  label.hidden = !live || fixed;
  if (!fixed) toEnd();
  follow.addEventListener("change", () => follow.checked && toEnd());
  pane.addEventListener("scroll", () => {
    const atEnd = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 4;
    if (!atEnd && pane.scrollTop < top - 1) follow.checked = false;
    else if (atEnd && pane.scrollTop > top + 1) follow.checked = true;
    top = pane.scrollTop;
  });
  new ResizeObserver(() => live && !fixed && follow.checked && toEnd()).observe(pane);
  return {
    position() {
      const query = [["log", pane.dataset.stream]];
      if (fixed) query.push(["from", 2 ** 31 - 1]); // no lines
      else if (pane.dataset.next) query.push(["from", pane.dataset.next]);
      return { turn, query };
    },
    add(asked, news) {
      if (fixed || asked.turn !== turn) return;
      pane.dataset.stream = news.stream;
      if (news.stream) pane.dataset.next = news.next;
      if (!news.html.trim()) return;
      all(".failure", pane).forEach((e) => e.remove());
      pane.insertAdjacentHTML("beforeend", news.html.trim());
      while (pane.childElementCount > most) pane.firstElementChild.remove();
      if (follow.checked) toEnd();
    },
    over() { label.hidden = true; },
    switchable(poll) {
      find("#streams").addEventListener("click", (event) => {
        const tab = event.target.closest("a[data-stream]");
        if (!tab || event.ctrlKey || event.metaKey || event.shiftKey) return;
        if (fixed || label.hidden) return; // the link leads there as well
        event.preventDefault();
        turn++;
        pane.dataset.stream = tab.dataset.stream;
        pane.dataset.next = "";
        pane.replaceChildren();
        follow.checked = true;
        history.replaceState(null, "", tab.href);
        poll();
      });
    },
  };
}

// rateColumn fills in how fast each channel has been read during the last few seconds.
function rateColumn() {
  const seen = new Map(); // samples [seconds, bytes] of each channel of each host
  function update() {
    const now = Number(find("[data-elapsed]")?.dataset.elapsed);
    for (const cell of all("[data-rate]")) {
      const samples = seen.get(cell.dataset.rate) ?? [];
      seen.set(cell.dataset.rate, samples);
      if (!samples.length || now > samples.at(-1)[0]) samples.push([now, Number(cell.dataset.bytes)]);
      while (samples.length > 2 && samples[1][0] <= now - 5) samples.shift();
      const [from, bytes] = samples[0], [to, later] = samples.at(-1);
      if (to > from) cell.textContent = perSecond((later - bytes) / (to - from));
    }
  }
  update();
  return update;
}

function perSecond(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  for (; bytes >= 999.5 && i < units.length - 1; i++) bytes /= 1000;
  return (bytes < 9.95 && i > 0 ? bytes.toFixed(1) : bytes.toFixed(0)) + " " + units[i] + "/s";
}

// tooltips tell the values where the pointer is over a chart.
function tooltips() {
  const tip = find("#tip"), charts = find("#charts");
  const parsed = new WeakMap();
  const dots = (line) => {
    if (!parsed.has(line)) parsed.set(line, {
      xs: line.getAttribute("points").split(" ").map(parseFloat),
      values: line.dataset.values.split(" "),
    });
    return parsed.get(line);
  };
  const hide = () => {
    tip.hidden = true;
    all(".cursor").forEach((c) => { c.setAttribute("x1", -9); c.setAttribute("x2", -9); });
  };
  charts.addEventListener("pointerleave", hide);
  charts.addEventListener("pointermove", (event) => {
    hide();
    const chart = event.target.closest(".chart"), svg = event.target.closest("svg[role=img]");
    if (!svg) return;
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    let at;
    const lines = all("polyline", svg).map((line) => {
      const { xs, values } = dots(line), i = nearest(xs, x);
      if (at === undefined || Math.abs(xs[i] - x) < Math.abs(at - x)) at = xs[i];
      return line.dataset.host + "  " + values[i];
    });
    const { left, right, span } = chart.dataset;
    tip.textContent = "after " + seconds(((at - left) / (right - left)) * span / 1000) + "\n" + lines.join("\n");
    tip.hidden = false;
    const cursor = find(".cursor", svg);
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
    const beyond = event.clientX + 16 + tip.offsetWidth > document.documentElement.clientWidth;
    tip.style.left = event.pageX + (beyond ? -12 - tip.offsetWidth : 14) + "px";
    tip.style.top = event.pageY + 12 + "px";
  });
}

// nearest is where in xs, which rise, the value nearest to x is.
function nearest(xs, x) {
  let low = 0, high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle; else high = middle;
  }
  return Math.abs(xs[low] - x) <= Math.abs(xs[high] - x) ? low : high;
}

function seconds(s) {
  if (s < 60) return s.toFixed(s < 10 ? 1 : 0) + "s";
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return minutes + "m " + Math.floor(s % 60) + "s";
  return Math.floor(minutes / 60) + "h " + (minutes % 60) + "m";
}
