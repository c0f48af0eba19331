// Evictions on the time line: a lane for each queue of the chart, and the details of the one
// that was picked with the mouse or with the arrow keys.

const LANE = 34;

class EvictionLanes extends TimeFrame {
  /** *lanes* are {name, shade, marks}: the places of evictions in the list, by time. */
  constructor(view, lanes, atMs, onPick) {
    super(
      view,
      "Evictions over time: arrow keys go from one to the next, Home and End to the first and last",
      lanes.length * LANE + BELOW,
    );
    this.svg.classList.add("lanes");
    this.lanes = lanes;
    this.atMs = atMs;
    this.onPick = onPick;
    this.picked = null;
    this.order = lanes
      .flatMap((lane) => lane.marks)
      .sort((one, other) => atMs[one] - atMs[other] || one - other);
    this.draw();
  }

  pick(mark) {
    this.picked = mark;
    const at = this.atMs[mark];
    if (!this.view.isShown(at)) {
      const half = (this.view.toMs - this.view.fromMs) / 2;
      this.view.show(at - half, at + half);
    }
    this.draw();
    this.onPick(mark);
  }

  /** Pick the next one of those that are there, in time. */
  go(count) {
    if (!this.order.length) return;
    const place =
      this.picked === null ? (count > 0 ? -1 : this.order.length) : this.order.indexOf(this.picked);
    this.pick(this.order[Math.max(0, Math.min(this.order.length - 1, place + count))]);
  }

  keys(event) {
    return {
      ...super.keys(event),
      ArrowRight: () => this.go(1),
      ArrowDown: () => this.go(1),
      ArrowLeft: () => this.go(-1),
      ArrowUp: () => this.go(-1),
      Home: () => this.go(-this.order.length),
      End: () => this.go(this.order.length),
      Enter: () => this.go(this.picked === null ? 1 : 0),
    };
  }

  onClick(event) {
    const box = this.svg.getBoundingClientRect();
    const lane = this.lanes[Math.floor((event.clientY - box.top) / LANE)];
    if (!lane) return;
    const wanted = this.timeAt(event);
    let best = null;
    for (const mark of lane.marks) {
      if (best === null || Math.abs(this.atMs[mark] - wanted) < Math.abs(this.atMs[best] - wanted))
        best = mark;
    }
    if (best !== null && Math.abs(this.x(this.atMs[best]) - this.x(wanted)) <= 12) this.pick(best);
  }

  draw() {
    const bottom = this.lanes.length * LANE;
    const parts = [];
    this.lanes.forEach((lane, at) => {
      const top = at * LANE;
      parts.push(
        drawn("rect", {
          class: "lane",
          x: LEFT,
          y: top + 16,
          width: this.plotWidth,
          height: LANE - 20,
        }),
      );
      parts.push(
        drawn(
          "text",
          { class: "name", x: LEFT, y: top + 12 },
          lane.name + ": " + lane.marks.length,
        ),
      );
    });
    parts.push(
      ...this.timeAxis(bottom, true).filter((part) => part.tagName === "text" || this.lanes.length),
    );
    this.lanes.forEach((lane, at) => {
      const path = this.marks(lane.marks, at);
      if (path) parts.push(drawn("path", { class: "marks " + lane.shade, d: path }));
    });
    if (this.picked !== null && this.view.isShown(this.atMs[this.picked])) {
      const lane = this.lanes.findIndex((each) => each.marks.includes(this.picked));
      const x = this.x(this.atMs[this.picked]).toFixed(1);
      parts.push(
        drawn("path", {
          class: "picked",
          d: "M" + x + "," + (lane * LANE + 13) + "v" + (LANE - 14),
        }),
      );
    }
    this.replace(parts);
  }

  marks(marks, lane) {
    let path = "";
    let before = null;
    for (const mark of marks) {
      if (!this.view.isShown(this.atMs[mark])) continue;
      const x = this.x(this.atMs[mark]).toFixed(0);
      if (x !== before) path += "M" + x + "," + (lane * LANE + 17) + "v" + (LANE - 22);
      before = x;
    }
    return path;
  }
}
