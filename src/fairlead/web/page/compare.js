// The page of a comparison: the same work on several sides, what differs, and how sure that is.

const WIDEST_CHANGE = 1; // a change of 100 % is at the edge of its picture

// Verdicts that name a change, not a doubt.
const CHANGES = ["better", "worse", "more", "less", "only here", "only there"];

class ComparePage extends ChosenPage {
  constructor(page) {
    super();
    this.page = page;
    this.resource = page.resources.length ? page.resources[0].name : "";
    this.other = 1;
  }

  get hasIntervals() {
    return this.page.is_random && this.page.seeds.length > 1;
  }

  rowsOf(scope) {
    return this.page.rows.filter(
      (each) => each.scope === scope && (each.resource === "" || each.resource === this.resource),
    );
  }

  text(found, value) {
    return this.inForm(found.form, found, value);
  }

  /** The mean of a side; a lower bound where jobs never started. */
  ofSide(found, at) {
    return (found.at_least[at] ? AT_LEAST : "") + this.text(found, found.sides[at].mean);
  }

  inForm(form, found, value) {
    if (value === null || value === undefined) return NOTHING;
    if (form !== "amount-time") return formText(form, value);
    const { scale, unit } = this.page.resources.find((each) => each.name === found.resource);
    return numberText(value / scale / HOUR_MS) + "\u2009" + unit + "-h";
  }

  /** A difference with its sign; that of two percentages is in points. */
  signed(found, value) {
    const form = found.form === "percent" ? "points" : found.form;
    const text = this.inForm(form, found, value);
    return value > 0 && text !== this.inForm(form, found, 0) ? "+" + text : text;
  }

  render() {
    this.show(this.toolbar(), this.cluster(), this.overview(), this.queues(), this.foot());
  }

  head() {
    const { page } = this;
    const seeds =
      page.seeds.length === 1 ? "one seed (" + page.seeds[0] + ")" : page.seeds.length + " seeds";
    const about = "Comparison of " + page.sides.length + " sides on the same work, " + seeds;
    return [
      ...pageHead(page.scenario, about),
      page.seeds_remark
        ? element(
            "p",
            { class: page.is_random ? "partial" : "remark", role: "note" },
            page.seeds_remark[0].toUpperCase() + page.seeds_remark.slice(1) + ".",
          )
        : null,
    ];
  }

  toolbar() {
    const { page } = this;
    return choosers(
      choice(
        "choose-resource",
        "Resource",
        page.resources.map((each) => [each.name, each.name]),
        this.resource,
        (resource) => this.choose({ resource }),
      ),
      page.sides.length > 2
        ? choice(
            "choose-side",
            "Compare " + page.sides[0].name + " with",
            page.sides.slice(1).map((side, at) => [String(at + 1), side.name]),
            String(this.other),
            (at) => this.choose({ other: Number(at) }),
          )
        : null,
    );
  }

  /** All sides at once, where there are more than two. */
  overview() {
    const { page } = this;
    if (page.sides.length < 3) return null;
    const rows = this.rowsOf("cluster").map((found) =>
      row([found.title, ...found.sides.map((_, at) => this.ofSide(found, at))]),
    );
    return element(
      "section",
      {},
      element("h2", {}, "All sides"),
      element(
        "p",
        { class: "faint" },
        "Means over " + plural(page.seeds.length, "seed") + ", of the whole cluster.",
      ),
      table(["Measure", ...page.sides.map((side) => side.name)], rows, "All sides"),
    );
  }

  cluster() {
    const rows = this.rowsOf("cluster").map((found) => this.line(found, found.title));
    return this.section("What differs in the cluster", rows, "Measure");
  }

  queues() {
    const names = [...new Set(this.rowsOf("queue").map((found) => found.name))];
    if (!names.length) return null;
    const all = this.rowsOf("queue");
    const rows = names.flatMap((name) => [
      element(
        "tr",
        {},
        element("th", { scope: "rowgroup", colspan: this.hasIntervals ? 7 : 6 }, name),
      ),
      ...all
        .filter((found) => found.name === name)
        .map((found) => this.line(found, "\u2003" + found.title)),
    ]);
    const left = this.page.queues_left_out
      ? [
          element(
            "p",
            { class: "faint" },
            plural(this.page.queues_left_out, "queue") + " with little use are left out.",
          ),
        ]
      : [];
    const made = this.section("What differs for queues", rows, "Queue and measure");
    made.append(...left);
    return made;
  }

  section(title, rows, first) {
    const [one, other] = [this.page.sides[0].name, this.page.sides[this.other].name];
    const heads = [
      first,
      one,
      other,
      "Difference",
      ...(this.hasIntervals ? ["95\u2009% interval"] : []),
      textHead("Change, \u2212100 to +100\u2009%"),
      textHead("Verdict"),
    ];
    return element(
      "section",
      { class: "compared" },
      element("h2", {}, title),
      element(
        "p",
        { class: "faint" },
        `${other} against ${one}: each seed with itself. `,
        this.hasIntervals
          ? "The dot is the mean change, the line its interval; if that does not reach the " +
              "middle, it is more than chance in nineteen of twenty rows."
          : "",
      ),
      table(heads, rows, title),
    );
  }

  line(found, name) {
    const difference = found.differences[this.other - 1];
    const verdict = found.verdicts[this.other - 1] || NOTHING;
    const isSure = CHANGES.includes(verdict);
    const interval =
      difference.low === null
        ? NOTHING
        : this.signed(found, difference.low) + " \u2026 " + this.signed(found, difference.high);
    // A narrow window has no heads: there the cells of both sides and of the interval name themselves.
    const named = (head, text, more = "") =>
      element("td", { class: "named" + more, "data-head": head }, text);
    const { sides } = this.page;
    return row([
      name,
      named(sides[0].name, this.ofSide(found, 0)),
      named(sides[this.other].name, this.ofSide(found, this.other)),
      element(
        "td",
        { class: "difference" + (isSure ? " sure" : "") },
        this.signed(found, difference.mean),
      ),
      ...(this.hasIntervals ? [named("95\u2009% interval", interval, " interval")] : []),
      element("td", { class: "wide" }, this.change(found, difference, verdict)),
      element(
        "td",
        { class: "text verdict " + (verdict === "worse" ? "behind" : isSure ? "sure" : "faint") },
        verdict,
      ),
    ]);
  }

  /** The relative change and its interval around no change; one from nothing is at the edge. */
  change(found, difference, verdict) {
    if (difference.mean === null) return element("span", { class: "faint" }, NOTHING);
    const shade = { better: "q2", worse: "q6" }[verdict] || "q7";
    const base = Math.abs(found.sides[0].mean);
    const part = (value) => (value === 0 ? 0 : value / base);
    const place = (value) => 50 + 50 * Math.max(-1, Math.min(1, part(value) / WIDEST_CHANGE));
    const size =
      base || difference.mean === 0 ? "of " + percentText(part(difference.mean)) : "from 0";
    const text = "Change " + size + ", " + verdict;
    const parts = [];
    if (difference.low !== null) {
      const reach = element("div", { class: "reach" });
      reach.style.left = place(difference.low) + "%";
      reach.style.width = place(difference.high) - place(difference.low) + "%";
      parts.push(reach);
    }
    const dot = element("div", { class: "dot" });
    dot.style.left = place(difference.mean) + "%";
    return element(
      "div",
      { class: "span " + shade, role: "img", "aria-label": text, title: text },
      parts,
      dot,
    );
  }

  foot() {
    return element(
      "section",
      { class: "faint" },
      element(
        "p",
        {},
        `Seeds ${this.page.seeds.join(", ")}. `,
        this.hasIntervals
          ? "Intervals are of 95\u2009% by Student\u2019s t over the differences of pairs. "
          : "",
        "\u2265: jobs that never started count with their age at the end. ",
        "Unclear: the side that seems better left more jobs unstarted. ",
        WHERE_TO_READ,
      ),
    );
  }
}
