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

function choice(label, options, chosen, onchange) {
  const select = element(
    "select",
    { onchange: () => onchange(select.value) },
    options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)),
  );
  return element("label", {}, label, select);
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
