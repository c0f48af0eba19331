// The page of a report: who got what against what was due, of one run and one resource at a time.

const KEYS = "Drag over a picture to look closer, double-click for the whole time. With the keyboard: arrows move the cursor, + and \u2212 zoom, 0 shows all.";
const MOST_LISTED = 200;
const MEASURE_SCOPES = [["queue", "queues"], ["user", "users"], ["kind", "kinds of work"], ["cluster", "the cluster"]];

class Report {
  constructor(page) {
    this.page = page;
    this.runAt = 0;
    this.resource = page.resources.length ? page.resources[0].name : null;
    this.groupTitle = null;
    this.scope = "queue";
  }

  get run() { return this.page.runs[this.runAt]; }

  get group() { return this.run.groups.find((group) => group.title === this.groupTitle) || this.run.groups[0]; }

  get unit() { return this.page.resources.find((each) => each.name === this.resource).unit; }

  units(count) { return this.unit + (count === 1 || this.unit === "GiB" || this.unit.endsWith("s") ? "" : "s"); }

  /** The queues of the picture, each with its colour; the last may stand for several. */
  members() {
    const { run, group } = this;
    const members = group.members.map((at, place) => ({
      at, name: run.queues[at].name, shade: "q" + (place % 8), lines: (run.lines[at] || {})[this.resource] || {}, queues: [at],
    }));
    if (group.others.length) {
      members.push({ at: null, name: group.others.length + " others", shade: "others", lines: group.others_lines[this.resource] || {}, queues: group.others });
    }
    return members;
  }

  /** Which member of the picture a queue belongs to: itself, or the one above it. */
  memberOf(members) {
    const found = new Map();
    members.forEach((member, place) => member.queues.forEach((at) => found.set(at, place)));
    return (queue) => {
      for (let at = queue; at !== null && at !== undefined; at = this.run.queues[at].parent) {
        if (found.has(at)) return found.get(at);
      }
      return null;
    };
  }

  /** A measure of a queue, by place, or of the cluster. */
  measure(at, key) {
    const name = at === null ? "" : this.run.queues[at].name;
    const found = this.run.measures[at === null ? "cluster" : "queue"].rows.find((each) => each.name === name);
    return found ? this.cell(found, key) : null;
  }

  cell(found, key) {
    const columns = this.page.columns;
    const column = columns.find((each) => each.key === key);
    const place = columns.filter((each) => each.by_resource === column.by_resource).indexOf(column);
    return column.by_resource ? (found.by_resource[this.resource] || [])[place] : found.values[place];
  }

  render() {
    document.getElementById("top").replaceChildren(...this.head());
    const main = document.getElementById("main");
    if (!this.run || !this.resource) {
      main.replaceChildren(element("p", {}, "There is no run in this result."));
      return;
    }
    const { run } = this;
    this.view = new TimeView(run.start_ms, run.end_ms, run.bucket_ms, run.buckets);
    const members = this.members();
    main.replaceChildren(...[
      this.partial(), this.runs(), this.toolbar(), this.shares(members), this.overTime(members), this.evictions(members),
      this.againstDue(members), this.pastUse(members), this.waits(members), this.measures(), this.foot(),
    ].filter(Boolean));
  }

  choose(change) {
    const where = document.activeElement && document.activeElement.id;
    Object.assign(this, change);
    this.render();
    if (where) document.getElementById(where)?.focus({ preventScroll: true });
  }

  head() {
    const count = this.page.runs.length;
    const about = plural(count, "run") + " of one scenario" + (this.page.runs_left_out ? "; " + this.page.runs_left_out + " more are in the result, too many for one page" : "");
    return [
      element("a", { class: "skip", href: "#main" }, "Skip to the content"),
      element("div", {},
        element("div", {}, element("h1", {}, this.page.scenario), element("p", { class: "faint" }, "Simulation report, " + about)),
        themeSwitch()),
    ];
  }

  partial() {
    const stopped = this.page.runs.filter((run) => !run.complete);
    if (!stopped.length && this.page.complete) return null;
    const end = (run) => (this.page.runs.length > 1 ? run.name : "It") + " ends at " + momentText(run.end_ms, run.start_ms) + ".";
    const why = stopped.length ? "stopped before the end of the scenario. " + stopped.map(end).join(" ") + " All numbers count only the time until then."
      : "not all runs that were asked for are there.";
    return element("p", { class: "partial", role: "note" }, "Partial result: " + why);
  }

  runs() {
    const { page } = this;
    if (page.runs.length < 2) return null;
    const keys = ["utilisation", "wait_p50", "wait_p90", "slowdown_mean", "jain", "worst_deficit", "preemptions", "lost"];
    const columns = keys.map((key) => page.columns.find((each) => each.key === key));
    const rows = page.runs.map((run, at) => {
      const cluster = run.measures.cluster.rows[0];
      const name = [element("button", { id: "run-" + at, "aria-pressed": String(at === this.runAt), onclick: () => this.choose({ runAt: at }) }, run.name),
        run.complete ? null : " ", run.complete ? null : element("span", { class: "badge" }, "partial")];
      return row([name, ...columns.map((column) => formText(column.form, this.cell(cluster, column.key)))], { class: at === this.runAt ? "chosen" : null });
    });
    return element("section", {}, element("h2", {}, "The runs side by side"),
      element("p", { class: "faint" }, "Choose one to see it below. " + this.resource + "; deficit and loss in " + this.unit + " hours."),
      table(["Run", ...columns.map((column) => column.key === "utilisation" ? "Utilisation" : column.title)], rows, "The runs side by side"));
  }

  toolbar() {
    const { page, run } = this;
    const reset = element("button", { type: "button", id: "reset", onclick: () => this.view.showAll() }, "Show the whole time");
    const update = () => { reset.disabled = this.view.isWhole; };
    this.view.watch(update);
    update();
    const chooser = (id, label, options, chosen, onchange) => {
      const made = choice(label, options, chosen, onchange);
      made.querySelector("select").id = id;
      return made;
    };
    return element("div", { class: "toolbar sticky", role: "toolbar", "aria-label": "What is shown" },
      page.runs.length > 1 ? chooser("choose-run", "Run", page.runs.map((each, at) => [String(at), each.name]), String(this.runAt), (at) => this.choose({ runAt: Number(at) })) : null,
      chooser("choose-resource", "Resource", page.resources.map((each) => [each.name, each.name]), this.resource, (resource) => this.choose({ resource })),
      chooser("choose-group", "Queues", run.groups.map((group) => [group.title, group.title]), this.group.title, (groupTitle) => this.choose({ groupTitle })),
      reset);
  }

  shares(members) {
    const { run } = this;
    const hours = (run.end_ms - run.start_ms) / HOUR_MS || 1;
    const facts = members.map((member) => {
      const sum = (key) => member.queues.reduce((total, at) => total + (this.measure(at, key) || 0), 0);
      return { member, got: sum("allocated") / hours, due: sum("entitled") / hours };
    });
    const top = 1.02 * Math.max(...facts.map((each) => Math.max(each.got, each.due)), 1e-9);
    const rows = facts.map(({ member, got, due }) => {
      const ratio = member.at === null ? null : this.measure(member.at, "received_to_entitled");
      const waits = (key) => member.at === null ? NOTHING : durationText(this.measure(member.at, key));
      const evictions = member.queues.reduce((total, at) => total + (this.measure(at, "preemptions") || 0), 0);
      return row([
        [element("span", { class: "swatch " + member.shade }), member.name],
        element("td", { class: "wide" }, this.bar(member, got, due, top)),
        numberText(got), numberText(due),
        element("td", { class: ratio !== null && ratio !== undefined && ratio < 0.9 ? "behind" : null }, percentText(ratio)),
        waits("wait_p50"), waits("wait_p90"), numberText(evictions),
      ]);
    });
    const used = this.measure(null, "utilisation");
    const capacity = run.capacity[this.resource] || [];
    const has = this.view.average(capacity);
    const settings = Object.entries(run.settings).map(([name, value]) => name + "=" + value).join(", ");
    return element("section", {}, element("h2", {}, "Who got what, and what was due"),
      element("p", {}, "Rules ", element("b", {}, run.policy), run.variant === run.policy ? "" : " (" + run.variant + ")", settings ? " with " + settings : "",
        ", seed " + run.seed + ", " + durationText(run.end_ms - run.start_ms), run.start_ms < DAY_MS ? "" : " from " + momentText(run.start_ms, run.start_ms) + " UTC",
        ", " + plural(this.measure(null, "submitted"), "job") + ". The cluster has " + numberText(has) + " " + this.units(has) + ", of which ",
        element("b", {}, percentText(used)), " were in use. Averages over the whole time; the line across a bar is what was due."),
      table(["Queue", element("th", { class: "text", scope: "col" }, "Got, against what was due"), "Got", "Due", "Got of due while it waited", "Wait, p50", "Wait, p90", "Evictions"], rows, "Who got what"));
  }

  bar(member, got, due, top) {
    const filled = element("div", { class: "got " + member.shade });
    filled.style.width = (100 * got) / top + "%";
    const owed = element("div", { class: "owed" });
    owed.style.left = (100 * due) / top + "%";
    const text = member.name + " got " + numberText(got) + " " + this.unit + " on average, due were " + numberText(due);
    return element("div", { class: "bar", role: "img", "aria-label": text, title: text }, filled, owed);
  }

  overTime(members) {
    const capacity = this.run.capacity[this.resource];
    const areas = members.map((member) => ({ name: member.name, shade: member.shade, kind: "area", values: member.lines.allocated }));
    const lines = [...areas, { name: "capacity", kind: "limit", swatch: "dashed", values: capacity }];
    const caption = "What queues held over time, in " + this.units(2);
    const chart = new TimeChart(this.view, { label: caption + ". " + KEYS, lines, height: 280, ticks: 5 });
    return element("section", {}, element("h2", {}, "What queues held over time"),
      element("p", { class: "faint" }, caption + ", stacked. " + KEYS),
      element("figure", {}, chart.svg, legendOf(this.view, lines, chart), asTable(this.view, lines, caption)));
  }

  againstDue(members) {
    const kinds = ["allocated", "entitled", "fair_share"];
    const top = Math.max(...members.flatMap((member) => kinds.map((kind) => Math.max(0, ...(member.lines[kind] || [0])))));
    const hasFair = members.some((member) => member.lines.fair_share);
    const figures = members.map((member) => {
      const lines = [
        { name: "got", kind: "area", shade: member.shade, values: member.lines.allocated },
        { name: "fair share of the rules", kind: "fair", values: member.lines.fair_share },
        { name: "due", kind: "due", values: member.lines.entitled },
      ];
      const label = member.name + ": what it held against what was due";
      const chart = new TimeChart(this.view, { label: label + ". " + KEYS, lines, height: 150, top, ticks: 3 });
      const told = element("p", { class: "faint" });
      const update = () => {
        const [got, fair, due] = lines.map((line) => numberText(this.view.read(line.values)));
        told.textContent = "got " + got + ", due " + due + (hasFair ? ", fair share " + fair : "") + " " + this.view.readTitle();
      };
      this.view.watch(update);
      update();
      return element("figure", {}, element("h3", {}, element("span", { class: "swatch " + member.shade }), member.name), told, chart.svg);
    });
    const key = element("ul", { class: "legend" },
      element("li", { class: "q0" }, element("span", { class: "swatch" }), "what it held"),
      element("li", {}, element("span", { class: "swatch due" }), "what was due to it: one yardstick for all rules"),
      hasFair ? element("li", {}, element("span", { class: "swatch dotted" }), "its fair share by the rules themselves") : null);
    return element("section", {}, element("h2", {}, "Each queue against what was due to it"),
      element("p", { class: "faint" }, this.units(2) + " on one scale. Below the line a queue had less than its due, above it what others left."),
      key, element("div", { class: "small" }, figures));
  }

  pastUse(members) {
    const lines = members.map((member) => ({ name: member.name, shade: member.shade, kind: "line", swatch: "line", values: member.lines.usage }));
    if (!lines.some((line) => line.values)) return null;
    const caption = "Past use that counts, in percent of the cluster";
    const chart = new TimeChart(this.view, { label: caption + ". " + KEYS, lines, height: 180, ticks: 4 });
    return element("section", {}, element("h2", {}, "Past use"),
      element("p", { class: "faint" }, caption + ": who used more of late is due less of what is left over."),
      element("figure", {}, chart.svg, legendOf(this.view, lines, chart), asTable(this.view, lines, caption)));
  }

  waits(members) {
    const { run, page } = this;
    const edges = page.wait_edges_ms;
    const bins = ([key]) => (run.waits[key] || { counts: edges.map(() => 0).concat(0) }).counts;
    const used = run.waits[""].counts;
    const last = Math.max(4, ...used.map((count, at) => (count ? at : 0)));
    const names = edges.map(durationText);
    const told = (counts) => counts.map((count, at) => count ? count + (at < edges.length ? " under " + names[at] : " longer") : null).filter(Boolean).join(", ");
    const picture = (counts, shade, name) => {
      const shown = counts.slice(0, last + 1);
      const most = Math.max(1, ...shown);
      const rects = shown.map((count, at) => count ? drawn("rect", { x: at + 0.08, width: 0.84, y: 20 - Math.max(1, (20 * count) / most), height: Math.max(1, (20 * count) / most) }) : null);
      return drawn("svg", { class: "bins " + shade, viewBox: "0 -1 " + (last + 1) + " 21", preserveAspectRatio: "none", role: "img", "aria-label": "Waits of " + name + ": " + (told(counts) || "none") },
        drawn("title", {}, told(counts) || "no job started"), drawn("line", { x1: 0, x2: last + 1, y1: 20, y2: 20 }), rects);
    };
    const scale = element("div", { class: "scale", "aria-hidden": "true" },
      Array.from({ length: last + 1 }, (_, at) => element("span", {}, at % 2 ? names[at - 1] : "")));
    const line = (at, name, shade, counts) => row([
      [element("span", { class: "swatch " + shade }), name], element("td", { class: "wide" }, picture(counts, shade, name)),
      ...["wait_p50", "wait_p90", "wait_p99", "wait_max"].map((key) => durationText(this.measure(at, key))), numberText(this.measure(at, "unstarted")),
    ]);
    const rows = members.filter((member) => member.at !== null).map((member) => line(member.at, member.name, member.shade, bins([String(member.at)])));
    rows.push(line(null, "all jobs", "q7", bins([""])));
    const head = element("th", { class: "text", scope: "col" }, "How many jobs waited how long", scale);
    return element("section", {}, element("h2", {}, "How long jobs waited"),
      element("p", { class: "faint" }, "From submission to the first start. Bins grow from seconds to weeks; each row has a scale of its own."),
      table(["Queue", head, "Half within (p50)", "90 % within (p90)", "99 % within (p99)", "Longest", "Never started"], rows, "How long jobs waited"));
  }

  evictions(members) {
    const { run } = this;
    const listed = run.evictions;
    const title = element("h2", {}, "Evictions");
    if (!listed.total) return element("section", {}, title, element("p", {}, "Nobody was evicted."));
    const memberOf = this.memberOf(members);
    const lanes = members.map((member) => ({ name: member.name, shade: member.shade, marks: [] }));
    const elsewhere = { name: "other queues", shade: "others", marks: [] };
    listed.at_ms.forEach((_, mark) => {
      const place = memberOf(listed.queue[mark]);
      (place === null ? elsewhere : lanes[place]).marks.push(mark);
    });
    const filled = [...lanes, elsewhere].filter((lane) => lane.marks.length);
    const atMs = listed.at_ms.map((at) => run.start_ms + at);
    const told = element("div", { class: "told", "aria-live": "polite", id: "told" },
      element("p", {}, "Pick an eviction to see why it happened."),
      element("p", { class: "faint" }, "Click on a mark, or go through them with the arrow keys or the buttons."));
    const chart = new EvictionLanes(this.view, filled, atMs, (mark) => told.replaceChildren(...this.tell(mark, chart.order.indexOf(mark), chart.order.length)));
    const buttons = element("div", { class: "buttons" },
      element("button", { type: "button", onclick: () => chart.go(-1) }, "Previous"),
      element("button", { type: "button", onclick: () => chart.go(1) }, "Next"));
    const count = listed.at_ms.length < listed.total
      ? numberText(listed.at_ms.length) + " of " + numberText(listed.total) + " are shown, spread evenly over time; evictions.csv of the result has all of them."
      : plural(listed.total, "time") + " pods were told to leave.";
    return element("section", {}, title, element("p", { class: "faint" }, count + " Each mark is one."),
      element("figure", {}, chart.svg), told, buttons, this.evictionTable(atMs, chart));
  }

  tell(mark, place, count) {
    const { run } = this;
    const listed = run.evictions;
    const verb = { evicted: "was evicted", moved: "was moved", "node-lost": "lost its node" }[listed.cause[mark]] || listed.cause[mark];
    const queue = listed.queue[mark] === null ? "" : " of " + run.queues[listed.queue[mark]].name;
    return [
      element("p", {}, element("b", {}, listed.job[mark]), queue + " " + verb + " (" + plural(listed.pods[mark], "pod") + ") at " + momentText(run.start_ms + listed.at_ms[mark], run.start_ms)
        + (listed.beneficiary[mark] ? ", for " : "."), listed.beneficiary[mark] ? element("b", {}, listed.beneficiary[mark]) : null, listed.beneficiary[mark] ? "." : null),
      element("p", {}, "Why: " + listed.sentences[listed.why[mark]]),
      element("p", { class: "faint" }, numberText(place + 1) + " of " + numberText(count)),
    ];
  }

  evictionTable(atMs, chart) {
    const { run, view } = this;
    const listed = run.evictions;
    const place = element("div", {});
    const fill = () => {
      if (!details.open) return;
      const shown = chart.order.filter((mark) => view.isShown(atMs[mark]));
      const rows = shown.slice(0, MOST_LISTED).map((mark) => row([
        momentText(atMs[mark], run.start_ms), element("td", { class: "text" }, listed.job[mark]),
        element("td", { class: "text" }, listed.queue[mark] === null ? NOTHING : run.queues[listed.queue[mark]].name),
        numberText(listed.pods[mark]), element("td", { class: "text" }, listed.cause[mark]), element("td", { class: "text" }, listed.beneficiary[mark] || NOTHING),
        element("td", { class: "long" }, listed.sentences[listed.why[mark]]),
      ]));
      const heads = ["When", ...["Job", "Queue"].map((head) => element("th", { class: "text", scope: "col" }, head)), "Pods", ...["Cause", "For", "Why"].map((head) => element("th", { class: "text", scope: "col" }, head))];
      place.replaceChildren(...[shown.length > MOST_LISTED ? element("p", { class: "faint" }, "The first " + MOST_LISTED + " of " + shown.length + " in the time that is shown.") : null,
        table(heads, rows, "Evictions")].filter(Boolean));
    };
    const details = element("details", { ontoggle: fill }, element("summary", {}, "As a table"), place);
    view.watch((isMoved) => { if (isMoved) fill(); });
    return details;
  }

  measures() {
    const found = this.run.measures[this.scope];
    const place = element("div", {});
    const sorted = { key: null, isUp: true };
    const draw = () => {
      const rows = [...found.rows];
      if (sorted.key !== null) rows.sort((one, other) => this.inOrder(one, other, sorted));
      const columns = this.page.columns.filter((column) => rows.some((each) => { const value = this.cell(each, column.key); return value !== null && value !== undefined; }));
      const head = (key, title, meaning) => element("th", { scope: "col", "aria-sort": sorted.key === key ? (sorted.isUp ? "ascending" : "descending") : null, title: meaning },
        element("button", { type: "button", onclick: () => { sorted.isUp = sorted.key === key ? !sorted.isUp : key === ""; sorted.key = key; draw(); place.querySelector("[aria-sort] button").focus(); } }, title));
      const unitOf = (column) => column.form === "amount-time" ? column.title + " (" + this.unit + " hours)" : column.title;
      place.replaceChildren(table(
        [head("", "Name", "by name"), ...columns.map((column) => head(column.key, unitOf(column), column.meaning))],
        rows.map((each) => row([each.name || (this.scope === "cluster" ? "cluster" : "(none)"), ...columns.map((column) => formText(column.form, this.cell(each, column.key)))])),
        "Table of measures"));
    };
    draw();
    place.className = "tall";
    const scopes = choice("Of", MEASURE_SCOPES.filter(([scope]) => this.run.measures[scope].rows.length), this.scope, (scope) => this.choose({ scope }));
    scopes.querySelector("select").id = "choose-scope";
    return element("section", {}, element("h2", {}, "Measures"),
      element("p", { class: "faint" }, "Of " + this.resource + " where a measure is about a resource. Click on a title to sort."
        + (found.left_out ? " The " + found.rows.length + " that got most; " + found.left_out + " more are in measures.csv." : "")),
      element("div", { class: "toolbar" }, scopes), place);
  }

  /** Numbers by size, names by letters; what is not defined comes last either way. */
  inOrder(one, other, { key, isUp }) {
    const [a, b] = key === "" ? [one.name, other.name] : [this.cell(one, key), this.cell(other, key)];
    const [hasA, hasB] = [a !== null && a !== undefined, b !== null && b !== undefined];
    if (!hasA || !hasB) return hasA === hasB ? 0 : hasA ? -1 : 1;
    return (a < b ? -1 : a > b ? 1 : 0) * (isUp ? 1 : -1);
  }

  foot() {
    const left = this.run.groups_left_out ? " " + plural(this.run.groups_left_out, "group") + " of queues with little use are left out of the pictures." : "";
    return element("section", { class: "faint" }, element("p", {}, "Each point of a picture is the average of " + durationText(this.run.bucket_ms) + "." + left
      + " What the measures mean is written in docs/reference/measures.md. Made by Fairlead; this file needs no network."));
  }
}
