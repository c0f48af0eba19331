// Makes parts of the page. Texts become text nodes and nothing else: no name brings markup along.

function element(tag, attributes, ...children) {
  return withParts(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes, ...children) {
  return withParts(
    document.createElementNS("http://www.w3.org/2000/svg", tag),
    attributes,
    children,
  );
}

function withParts(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** A table: heads are texts or nodes, the first cell of each row is its name. */
function table(heads, rows, caption) {
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          heads.map((head) =>
            head instanceof Node && head.tagName === "TH"
              ? head
              : element("th", { scope: "col" }, head),
          ),
        ),
      ),
      element("tbody", {}, rows),
    ),
  );
}

function row(cells, attributes) {
  const [name, ...more] = cells;
  const asCell = (cell) =>
    cell instanceof Node && cell.tagName === "TD" ? cell : element("td", {}, cell);
  return element("tr", attributes, element("th", { scope: "row" }, name), more.map(asCell));
}

/** A hint of what can be clicked or pressed, which makes no sense on paper. */
function onScreen(...parts) {
  return element("span", { class: "on-screen" }, ...parts);
}

/** The head of a column of texts, which begin on the left. */
function textHead(...parts) {
  return element("th", { class: "text", scope: "col" }, ...parts);
}

function textCell(text) {
  return element("td", { class: "text" }, text);
}

function choice(id, label, options, chosen, onchange) {
  const select = element(
    "select",
    { id, onchange: () => onchange(select.value) },
    options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)),
  );
  return element("label", {}, label, select);
}

/** What stands at the top of every page. */
function pageHead(title, about) {
  return [
    element("a", { class: "skip", href: "#main" }, "Skip to the content"),
    element(
      "div",
      {},
      element("div", {}, element("h1", {}, title), element("p", { class: "faint" }, about)),
      themeSwitch(),
    ),
  ];
}

/** What a reader chooses of a page, within reach wherever they are. */
function choosers(...parts) {
  return element(
    "div",
    { class: "toolbar sticky", role: "toolbar", "aria-label": "What is shown" },
    ...parts,
  );
}

/** A page that is drawn anew when something else is chosen; the keyboard stays where it was. */
class ChosenPage {
  choose(change) {
    const where = document.activeElement && document.activeElement.id;
    Object.assign(this, change);
    this.render();
    if (where) document.getElementById(where)?.focus({ preventScroll: true });
  }

  show(...parts) {
    document.getElementById("top").replaceChildren(...this.head().filter(Boolean));
    document.getElementById("main").replaceChildren(...parts.filter(Boolean));
  }
}

/** The switch between light and dark; what was chosen is kept where the browser lets us. */
function themeSwitch() {
  const key = "fairlead-theme";
  const apply = (theme) => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
  };
  let kept = "auto";
  try {
    kept = localStorage.getItem(key) || "auto";
  } catch {
    /* a file may have no storage */
  }
  if (!["auto", "light", "dark"].includes(kept)) kept = "auto";
  apply(kept);
  return choice(
    "choose-colours",
    "Colours",
    [
      ["auto", "as the system"],
      ["light", "light"],
      ["dark", "dark"],
    ],
    kept,
    (theme) => {
      apply(theme);
      try {
        localStorage.setItem(key, theme);
      } catch {
        /* then it holds until the page is closed */
      }
    },
  );
}
