// The page of a report: what each queue got and what was due, of one run and one resource at a time.

const PLACED = ["runAt", "resource", "groupTitle", "queue"];
const WAIT = "wait_"; // so begin the keys of waits, of jobs that started
const WAIT_AT_LEAST = "wait_at_least_"; // of all jobs

class Report extends ChosenPage {
  constructor(page) {
    super();
    this.page = page;
    this.runAt = 0;
    this.resource = page.resources.length ? page.resources[0].name : null;
    this.groupTitle = null;
    this.queue = null; // one that is looked at by itself, by its place
    this.scope = "queue";
    this.sought = "";
    this.address = null; // what is shown, as it stands in the address; null: nothing yet
  }

  /** Choose something, and note it in the address: it can be sent, and back undoes it. */
  choose(change) {
    super.choose(change);
    if (!Object.keys(change).some((name) => PLACED.includes(name))) return;
    const place = new URLSearchParams({ run: this.run.name, resource: this.resource });
    if (this.groupTitle !== null) place.set("queues", this.groupTitle);
    if (this.queue !== null) place.set("queue", this.run.queues[this.queue].name);
    this.address = place.toString();
    location.hash = this.address;
  }

  /** Show what the address names; what it does not name, or no run has, is as at first. */
  follow() {
    const hash = location.hash.slice(1);
    const isElsewhere = this.address !== null && hash && !hash.includes("="); // as #main is
    if (hash === this.address || isElsewhere) return;
    this.address = hash;
    const { runs, resources } = this.page;
    const place = new URLSearchParams(hash);
    this.runAt = Math.max(
      0,
      runs.findIndex((run) => run.name === place.get("run")),
    );
    const found = resources.find((each) => each.name === place.get("resource")) || resources[0];
    this.resource = found ? found.name : null;
    this.groupTitle = place.get("queues");
    const queue = this.run ? this.placeOf(place.get("queue")) : -1;
    this.queue = queue < 0 ? null : queue;
    this.render();
  }

  placeOf(name) {
    return this.run.queues.findIndex((queue) => queue.name === name);
  }

  get run() {
    return this.page.runs[this.runAt];
  }

  get group() {
    return this.run.groups.find((group) => group.title === this.groupTitle) || this.run.groups[0];
  }

  get unit() {
    return this.page.resources.find((each) => each.name === this.resource).unit;
  }

  /** Look at another run; the queue that was looked at may have another place there. */
  chooseRun(runAt) {
    const name = this.queue === null ? null : this.run.queues[this.queue].name;
    const queue = this.page.runs[runAt].queues.findIndex((each) => each.name === name);
    this.choose({ runAt, queue: queue < 0 ? null : queue });
  }

  units(count) {
    return this.unit + (count === 1 || this.unit === "GiB" || this.unit.endsWith("s") ? "" : "s");
  }

  /** The queues of the picture, each with its colour; the last may stand for several. */
  members() {
    const { run, group } = this;
    const members = group.members.map((at, place) => ({
      at,
      name: run.queues[at].name,
      shade: "q" + (place % 8),
      lines: (run.lines[at] || {})[this.resource] || {},
      queues: [at],
    }));
    if (group.others.length) {
      members.push({
        at: null,
        name: group.others.length + " others",
        shade: "others",
        lines: group.others_lines[this.resource] || {},
        queues: group.others,
      });
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

  /** The measures of a queue, by place, or of the cluster. */
  measures(at) {
    const name = at === null ? "" : this.run.queues[at].name;
    const { rows } = this.run.measures[at === null ? "cluster" : "queue"];
    return rows.find((each) => each.name === name);
  }

  measure(at, key) {
    const found = this.measures(at);
    return found ? this.cell(found, key) : null;
  }

  measureText(at, key) {
    const found = this.measures(at);
    return found ? this.text(found, key) : NOTHING;
  }

  text(found, key) {
    const { form } = this.page.columns.find((each) => each.key === key);
    return (this.isBound(found, key) ? AT_LEAST : "") + formText(form, this.shown(found, key));
  }

  /** What is shown of a measure: of a wait a lower bound, where that is all that is known. */
  shown(found, key) {
    return this.cell(found, this.isBound(found, key) ? key.replace(WAIT, WAIT_AT_LEAST) : key);
  }

  /** Whether jobs never started; without them a run that starves them would look best. */
  isBound(found, key) {
    return key.startsWith(WAIT) && this.cell(found, "unstarted") > 0;
  }

  cell(found, key) {
    const columns = this.page.columns;
    const column = columns.find((each) => each.key === key);
    const place = columns.filter((each) => each.by_resource === column.by_resource).indexOf(column);
    return column.by_resource
      ? (found.by_resource[this.resource] || [])[place]
      : found.values[place];
  }

  render() {
    if (!this.run || !this.resource) {
      this.show(element("p", {}, "There is no run in this result."));
      return;
    }
    const { run } = this;
    this.view = new TimeView(run.start_ms, run.end_ms, run.bucket_ms, run.buckets);
    const members = this.members();
    this.show(
      this.partial(),
      this.runs(),
      this.toolbar(),
      sharesSection(this, members),
      heldSection(this, members),
      evictionsSection(this, members),
      dueSection(this, members),
      queueSection(this),
      pastUseSection(this, members),
      waitsSection(this, members),
      measuresSection(this),
      this.foot(),
    );
  }

  head() {
    const count = this.page.runs.length;
    const about =
      plural(count, "run") +
      " of one scenario" +
      (this.page.runs_left_out
        ? "; " + this.page.runs_left_out + " more are in the result, too many for one page"
        : "");
    return pageHead(this.page.scenario, "Simulation report, " + about);
  }

  partial() {
    const stopped = this.page.runs.filter((run) => !run.complete);
    if (!stopped.length && this.page.complete) return null;
    const end = (run) =>
      (this.page.runs.length > 1 ? run.name : "It") +
      " ends at " +
      momentText(run.end_ms, run.start_ms) +
      ".";
    const why = stopped.length
      ? "stopped before the end of the scenario. " +
        stopped.map(end).join(" ") +
        " All numbers count only the time until then."
      : "not all runs that were asked for are there.";
    return element("p", { class: "partial", role: "note" }, "Partial result: " + why);
  }

  runs() {
    const { page } = this;
    if (page.runs.length < 2) return null;
    const keys = [
      "utilisation",
      "goodput",
      "wait_p50",
      "wait_p90",
      "slowdown_mean",
      "jain",
      "worst_deficit",
      "evicted",
      "lost",
    ];
    const textOf = (run, { key }) => this.text(run.measures.cluster.rows[0], key);
    const columns = keys
      .map((key) => page.columns.find((each) => each.key === key))
      .filter((column) => page.runs.some((run) => textOf(run, column) !== NOTHING));
    const rows = page.runs.map((run, at) => {
      const name = [
        element(
          "button",
          {
            id: "run-" + at,
            "aria-pressed": String(at === this.runAt),
            onclick: () => this.chooseRun(at),
          },
          run.name,
        ),
        run.complete ? null : " ",
        run.complete ? null : element("span", { class: "badge" }, "partial"),
      ];
      return row(
        [name, ...columns.map((column) => textOf(run, column))],
        { class: at === this.runAt ? "chosen" : null },
      );
    });
    return element(
      "section",
      {},
      element("h2", {}, "The runs side by side"),
      element(
        "p",
        { class: "faint" },
        onScreen("Choose one to see it below. "),
        `${this.resource}; deficit and loss in ${this.unit} hours.`,
      ),
      table(
        [
          "Run",
          ...columns.map((column) => (column.key === "utilisation" ? "Utilisation" : column.title)),
        ],
        rows,
        "The runs side by side",
      ),
    );
  }

  toolbar() {
    const { page, run } = this;
    const reset = element(
      "button",
      { type: "button", id: "reset", onclick: () => this.view.showAll() },
      "Show the whole time",
    );
    const { view } = this;
    const move = (sign) => {
      const by = (sign * (view.toMs - view.fromMs)) / 2;
      view.show(view.fromMs + by, view.toMs + by);
    };
    const button = (id, label, text, onclick) =>
      element("button", { type: "button", id, "aria-label": label, title: label, onclick }, text);
    const moves = [
      button("earlier", "Earlier", "\u25c0", () => move(-1)),
      button("later", "Later", "\u25b6", () => move(1)),
    ];
    const closer = button("closer", "Look closer", "+", () => view.zoom(0.5));
    const wider = button("wider", "Show more time", "\u2212", () => view.zoom(2));
    const update = () => {
      for (const each of [reset, wider, ...moves]) each.disabled = view.isWhole;
    };
    this.view.watch(update);
    update();
    return choosers(
      page.runs.length > 1
        ? choice(
            "choose-run",
            "Run",
            page.runs.map((each, at) => [String(at), each.name]),
            String(this.runAt),
            (at) => this.chooseRun(Number(at)),
          )
        : null,
      choice(
        "choose-resource",
        "Resource",
        page.resources.map((each) => [each.name, each.name]),
        this.resource,
        (resource) => this.choose({ resource }),
      ),
      choice(
        "choose-group",
        "Queues",
        run.groups.map((group) => [group.title, group.title]),
        this.group.title,
        (groupTitle) => this.choose({ groupTitle }),
      ),
      element(
        "div",
        { class: "zoom", role: "group", "aria-label": "Time" },
        ...moves,
        closer,
        wider,
        reset,
      ),
    );
  }

  foot() {
    const count = this.run.groups_left_out;
    const left = count ? `${plural(count, "group")} of queues with little use are left out. ` : "";
    return element(
      "section",
      { class: "faint" },
      element(
        "p",
        {},
        `Each point of a picture is the average of ${durationText(this.run.bucket_ms)}. ${left}`,
        WHERE_TO_READ,
      ),
    );
  }
}
