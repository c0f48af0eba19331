// Pictures over time: stacked areas and lines, one time axis for all of them.
//
// Values are averages of buckets, so they are drawn as steps. A view says which stretch of time is
// shown and where the cursor is; every chart of the page follows it.

const LEFT = 46;
const RIGHT = 10;
const BELOW = 22; // where the texts of the time axis stand
const MOST_TABLE_ROWS = 24;

class TimeView {
  constructor(startMs, endMs, bucketMs, buckets) {
    this.startMs = startMs;
    this.endMs = Math.max(endMs, startMs + 1);
    this.bucketMs = bucketMs;
    this.buckets = buckets;
    this.fromMs = this.startMs;
    this.toMs = this.endMs;
    this.cursorMs = null;
    this.watchers = [];
    this.isWaiting = false;
    this.isMoved = false; // another stretch of time is shown, not only the cursor is elsewhere
  }

  get isWhole() {
    return this.fromMs === this.startMs && this.toMs === this.endMs;
  }

  /** Call *call* after each change, with whether another stretch of time is shown. */
  watch(call) {
    this.watchers.push(call);
  }

  /** Draw everything anew, once for all changes until the next frame. */
  changed() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      const isMoved = this.isMoved;
      this.isWaiting = this.isMoved = false;
      for (const call of this.watchers) call(isMoved);
    });
  }

  show(fromMs, toMs) {
    const least = Math.min(this.endMs - this.startMs, 2 * this.bucketMs);
    const length = Math.max(least, Math.min(this.endMs - this.startMs, toMs - fromMs));
    this.fromMs = Math.max(this.startMs, Math.min(fromMs, this.endMs - length));
    this.toMs = this.fromMs + length;
    this.isMoved = true;
    this.changed();
  }

  showAll() {
    this.show(this.startMs, this.endMs);
  }

  zoom(factor) {
    const middle =
      this.cursorMs !== null && this.isShown(this.cursorMs)
        ? this.cursorMs
        : (this.fromMs + this.toMs) / 2;
    this.show(middle - (middle - this.fromMs) * factor, middle + (this.toMs - middle) * factor);
  }

  isShown(atMs) {
    return atMs >= this.fromMs && atMs <= this.toMs;
  }

  point(atMs) {
    this.cursorMs = atMs === null ? null : Math.max(this.fromMs, Math.min(this.toMs, atMs));
    this.changed();
  }

  /** Move the cursor by buckets, and the view with it where it leaves it. */
  step(count) {
    const from =
      this.cursorMs === null
        ? count > 0
          ? this.fromMs - this.bucketMs / 2
          : this.toMs + this.bucketMs / 2
        : this.cursorMs;
    const middle = this.startMs + (this.bucketAt(from) + 0.5) * this.bucketMs;
    const next = Math.max(
      this.startMs,
      Math.min(this.endMs - 1, (this.cursorMs === null ? from : middle) + count * this.bucketMs),
    );
    if (!this.isShown(next)) this.show(this.fromMs + next - from, this.toMs + next - from);
    this.point(next);
  }

  bucketAt(atMs) {
    return Math.max(
      0,
      Math.min(this.buckets - 1, Math.floor((atMs - this.startMs) / this.bucketMs)),
    );
  }

  beginOf(bucket) {
    return Math.min(this.endMs, this.startMs + bucket * this.bucketMs);
  }

  /** The average of a column over what is shown; buckets at the edges count with their part. */
  average(values) {
    if (!values) return 0;
    let total = 0;
    for (let at = this.bucketAt(this.fromMs); at <= this.bucketAt(this.toMs - 1); at += 1) {
      const part =
        Math.min(this.toMs, this.beginOf(at + 1)) - Math.max(this.fromMs, this.beginOf(at));
      total += values[at] * Math.max(0, part);
    }
    return total / (this.toMs - this.fromMs);
  }

  read(values) {
    if (!values) return 0;
    return this.cursorMs === null ? this.average(values) : values[this.bucketAt(this.cursorMs)];
  }

  readTitle() {
    return this.cursorMs === null
      ? "on average"
      : "at " + momentText(this.beginOf(this.bucketAt(this.cursorMs)), this.startMs);
  }
}

/** What charts and lanes share: the axis, the cursor, dragging and keys. */
class TimeFrame {
  constructor(view, label, height) {
    this.view = view;
    this.height = height;
    this.width = 600;
    this.dragFrom = null;
    this.svg = drawn("svg", {
      class: "chart",
      role: "group",
      "aria-roledescription": "chart",
      "aria-label": label,
      tabindex: 0,
      focusable: "true",
    });
    this.svg.addEventListener("keydown", (event) => this.onKey(event));
    this.svg.addEventListener("pointermove", (event) => this.onMove(event));
    this.svg.addEventListener("pointerdown", (event) => this.onDown(event));
    this.svg.addEventListener("pointerup", (event) => this.onUp(event));
    this.svg.addEventListener("pointerleave", () => {
      if (this.dragFrom === null) view.point(null);
    });
    this.svg.addEventListener("dblclick", () => view.showAll());
    this.svg.addEventListener("blur", () => view.point(null));
    this.plot = drawn("g", {});
    this.over = drawn("g", {});
    this.svg.append(this.plot, this.over);
    new ResizeObserver(() => this.resize()).observe(this.svg);
    view.watch((isMoved) => {
      if (isMoved) this.draw();
      else this.drawOver();
    });
  }

  resize() {
    const width = Math.round(this.svg.getBoundingClientRect().width);
    if (width && width !== this.width) {
      this.width = width;
      this.draw();
    }
  }

  get plotWidth() {
    return Math.max(10, this.width - LEFT - RIGHT);
  }

  x(atMs) {
    return (
      LEFT + ((atMs - this.view.fromMs) / (this.view.toMs - this.view.fromMs)) * this.plotWidth
    );
  }

  timeAt(event) {
    const box = this.svg.getBoundingClientRect();
    const part = (event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - RIGHT);
    return this.view.fromMs + Math.max(0, Math.min(1, part)) * (this.view.toMs - this.view.fromMs);
  }

  /** What each key does. */
  keys(event) {
    return {
      ArrowRight: () => this.view.step(event.shiftKey ? 10 : 1),
      ArrowLeft: () => this.view.step(event.shiftKey ? -10 : -1),
      "+": () => this.view.zoom(0.5),
      "=": () => this.view.zoom(0.5),
      "-": () => this.view.zoom(2),
      0: () => this.view.showAll(),
      Escape: () => this.view.showAll(),
    };
  }

  onKey(event) {
    const act = this.keys(event)[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
  }

  onMove(event) {
    this.view.point(this.timeAt(event));
  }

  onDown(event) {
    if (event.button !== 0 || event.pointerType === "touch") return;
    this.dragFrom = this.timeAt(event);
    this.svg.setPointerCapture(event.pointerId);
  }

  onUp(event) {
    const from = this.dragFrom;
    this.dragFrom = null;
    if (from === null) return;
    const to = this.timeAt(event);
    if (Math.abs(this.x(to) - this.x(from)) > 6)
      this.view.show(Math.min(from, to), Math.max(from, to));
    else this.onClick(event);
  }

  onClick() {
    /* charts have nothing to click on */
  }

  timeAxis(bottom, hasTexts) {
    const parts = [];
    for (const [at, text] of timeMarks(this.view, this.plotWidth)) {
      const x = this.x(at).toFixed(1);
      parts.push(drawn("line", { class: "grid", x1: x, x2: x, y1: 0, y2: bottom }));
      if (hasTexts)
        parts.push(drawn("text", { x, y: bottom + 15, "text-anchor": "middle" }, text));
    }
    return parts;
  }

  /** The cursor and what is being marked with the mouse; the picture beneath stays as it is. */
  drawOver() {
    const bottom = this.height - BELOW;
    const parts = [];
    const cursor = this.view.cursorMs;
    if (this.dragFrom !== null && cursor !== null) {
      const [a, b] = [this.x(this.dragFrom), this.x(cursor)].sort((one, other) => one - other);
      parts.push(drawn("rect", { class: "drag", x: a, y: 0, width: b - a, height: bottom }));
    }
    if (cursor !== null && this.view.isShown(cursor)) {
      const x = this.x(cursor).toFixed(1);
      parts.push(drawn("line", { class: "cursor", x1: x, x2: x, y1: 0, y2: bottom }));
    }
    this.over.replaceChildren(...parts);
  }

  replace(parts) {
    this.svg.setAttribute("height", this.height);
    this.svg.setAttribute("viewBox", "0 0 " + this.width + " " + this.height);
    this.plot.replaceChildren(...parts);
    this.drawOver();
  }
}

/** Marks of an axis from 0 to about *top*: steps of 1, 2 or 5. */
function niceTicks(top, most) {
  if (!(top > 0)) return [0, 1];
  const step = niceStep(top / most);
  const ticks = [];
  for (let at = 0; at <= Math.ceil(top / step - 1e-9); at += 1) ticks.push(at * step);
  return ticks;
}

/**
 * Lines and areas. A line is {name, values, shade, kind}: kind is area, line, due, fair or limit.
 * Areas are stacked if there are several. *top* is the end of the axis where charts share one.
 */
class TimeChart extends TimeFrame {
  constructor(view, { label, lines, height, top, ticks }) {
    super(view, label, height);
    this.lines = lines.filter((line) => line.values);
    this.top = top;
    this.ticks = ticks;
    this.onlyName = null;
    this.draw();
  }

  /** Let the axis end at *top*; null: at what is highest in sight. */
  scaleTo(top) {
    this.top = top;
    this.draw();
  }

  emphasise(name) {
    this.onlyName = name;
    this.draw();
  }

  draw() {
    const bottom = this.height - BELOW;
    const first = this.view.bucketAt(this.view.fromMs);
    const last = this.view.bucketAt(this.view.toMs - 1);
    const ticks = niceTicks(this.top || this.highest(first, last), this.ticks);
    const end = ticks[ticks.length - 1];
    const y = (value) => bottom - (Math.min(value, end) / end) * (bottom - 6);
    const parts = this.timeAxis(bottom, true);
    for (const tick of ticks) {
      parts.push(
        drawn("line", {
          class: "grid",
          x1: LEFT,
          x2: this.width - RIGHT,
          y1: y(tick),
          y2: y(tick),
        }),
      );
      parts.push(
        drawn("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, numberText(tick)),
      );
    }
    let floor = new Float64Array(last - first + 1);
    for (const line of this.lines) {
      const shade =
        (line.shade || "") +
        (this.onlyName !== null && this.onlyName !== line.name ? " faded" : "");
      if (line.kind === "area") {
        const roof = floor.map((value, at) => value + line.values[first + at]);
        parts.push(
          drawn("path", {
            class: "area " + shade,
            d: this.steps(roof, first, y, "M") + this.back(floor, first, y) + "Z",
          }),
        );
        parts.push(drawn("path", { class: "edge " + shade, d: this.steps(roof, first, y, "M") }));
        floor = roof;
      } else {
        const values = line.values.slice(first, last + 1);
        if (line.kind === "limit" && values.every((value) => value > end)) continue; // out of sight
        parts.push(
          drawn("path", { class: line.kind + " " + shade, d: this.steps(values, first, y, "M") }),
        );
      }
    }
    this.replace(parts);
  }

  highest(first, last) {
    let top = 0;
    for (let at = first; at <= last; at += 1) {
      let stack = 0;
      for (const line of this.lines) {
        if (line.kind === "area") stack += line.values[at];
        else top = Math.max(top, line.values[at]);
      }
      top = Math.max(top, stack);
    }
    return top;
  }

  edge(bucket) {
    return Math.max(LEFT, Math.min(this.width - RIGHT, this.x(this.view.beginOf(bucket)))).toFixed(
      1,
    );
  }

  steps(values, first, y, begin) {
    let path = begin;
    let before = null;
    for (let at = 0; at < values.length; at += 1) {
      const height = y(values[at]).toFixed(1);
      if (height !== before)
        path += at ? "H" + this.edge(first + at) + "V" + height : this.edge(first) + "," + height;
      before = height;
    }
    return path + "H" + this.edge(first + values.length);
  }

  back(values, first, y) {
    let path = "V" + y(values[values.length - 1]).toFixed(1);
    for (let at = values.length - 1; at >= 0; at -= 1) {
      const height = y(values[at]).toFixed(1);
      const next = at ? y(values[at - 1]).toFixed(1) : null;
      if (height !== next) path += "H" + this.edge(first + at) + (next === null ? "" : "V" + next);
    }
    return path;
  }
}

/** The names of lines with their values where the cursor is, or on average. */
function legendOf(view, lines, chart) {
  const values = lines.map(() => element("b", {}));
  const when = element("li", { class: "faint" });
  const items = lines.map((line, at) =>
    element(
      "li",
      {
        class: line.shade,
        onpointerenter: () => chart.emphasise(line.name),
        onpointerleave: () => chart.emphasise(null),
      },
      element("span", { class: "swatch " + (line.swatch || "") }),
      line.name,
      values[at],
    ),
  );
  const update = () => {
    when.textContent = view.readTitle();
    lines.forEach((line, at) => {
      values[at].textContent = numberText(view.read(line.values));
    });
  };
  view.watch(update);
  update();
  const list = element("ul", { class: "legend" }, items, when);
  // A reader who moves the cursor by keys may not see the values, one who uses the mouse does.
  chart.svg.addEventListener("focus", () => list.setAttribute("aria-live", "polite"));
  chart.svg.addEventListener("blur", () => list.removeAttribute("aria-live"));
  return list;
}

/** What a chart shows as a table, for readers who cannot see it: made by *parts* when it is opened. */
function asTable(view, parts) {
  const place = element("div", {});
  const fill = () => {
    if (details.open) place.replaceChildren(...parts().filter(Boolean));
  };
  const details = element(
    "details",
    { ontoggle: fill },
    element("summary", {}, "As a table"),
    place,
  );
  view.watch((isMoved) => {
    if (isMoved) fill();
  });
  return details;
}

/** The numbers of lines over time. */
function linesAsTable(view, lines, caption) {
  return asTable(view, () => {
    const first = view.bucketAt(view.fromMs);
    const last = view.bucketAt(view.toMs - 1);
    const together = Math.ceil((last - first + 1) / MOST_TABLE_ROWS);
    const rows = [];
    for (let at = first; at <= last; at += together) {
      const upTo = Math.min(last + 1, at + together);
      const mean = (values) => {
        let total = 0;
        for (let each = at; each < upTo; each += 1)
          total += values[each] * (view.beginOf(each + 1) - view.beginOf(each));
        return total / Math.max(1, view.beginOf(upTo) - view.beginOf(at));
      };
      rows.push(
        row([
          momentText(view.beginOf(at), view.startMs),
          ...lines.map((line) => (line.values ? numberText(mean(line.values)) : "0")),
        ]),
      );
    }
    return [table(["From", ...lines.map((line) => line.name)], rows, caption)];
  });
}
