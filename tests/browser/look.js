// Copyright: (c) 2026, ascend.sglang contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
// Looks at a page as it is laid out, and leaves what it saw in an element of it, as JSON.
window.addEventListener("load", () => {
  const saw = { errors: window.sawErrors, overlaps: [], outside: [], faint: [], counts: {}, resources: [] };
  const box = (node) => node.getBoundingClientRect();
  const name = (node) => `${node.tagName}.${node.getAttribute("class") || ""}:${(node.textContent || "").trim().slice(0, 40)}`;
  const shown = (node) => box(node).width > 0 && box(node).height > 0 && getComputedStyle(node).display !== "none";
  // Two boxes that share more than a hair of room.
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const apart = (nodes, kind) => {
    const all = nodes.filter(shown).map((node) => [node, box(node)]);
    saw.counts[kind] = (saw.counts[kind] || 0) + all.length;
    for (let i = 0; i < all.length; i++) for (let j = i + 1; j < all.length; j++)
      if (overlap(all[i][1], all[j][1])) saw.overlaps.push(`${kind}: ${name(all[i][0])} / ${name(all[j][0])}`);
  };
  for (const drawing of document.querySelectorAll("svg.cluster")) {
    const texts = [...drawing.querySelectorAll("text")], services = [...drawing.querySelectorAll("rect.service")];
    apart(texts, "text");
    apart(services, "service");
    apart([...drawing.querySelectorAll("rect.instance")], "instance");
    const rooms = [...services, ...drawing.querySelectorAll("rect.instance")].map(box), whole = box(drawing);
    const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
    for (const text of texts) {
      const own = box(text);
      // A text touches no edge of a box: it is in it, or clear of it.
      if (!inside(own, whole) || rooms.some((room) => overlap(own, room) && !inside(own, room))) saw.outside.push(name(text));
    }
    // A wire may cross a wire, never a box that it does not end at, nor any text.
    for (const wire of drawing.querySelectorAll("path.wire")) {
      const points = [], length = wire.getTotalLength(), to = wire.getScreenCTM();
      for (let at = 0; at <= length; at += 4) points.push(wire.getPointAtLength(at).matrixTransform(to));
      for (const text of texts) {
        const own = box(text);
        if (points.some((p) => p.x > own.left + 1 && p.x < own.right - 1 && p.y > own.top + 2 && p.y < own.bottom - 2))
          saw.overlaps.push(`wire: ${wire.getAttribute("class")} / ${name(text)}`);
      }
      for (const room of services.map(box))
        if (points.some((p) => p.x > room.left + 3 && p.x < room.right - 3 && p.y > room.top + 3 && p.y < room.bottom - 3))
          saw.overlaps.push(`wire: ${wire.getAttribute("class")} through a service`);
    }
  }
  for (const plot of document.querySelectorAll("svg.pygal-chart")) {
    apart([...plot.querySelectorAll("text")], "plot text");
    const whole = box(plot);
    for (const text of [...plot.querySelectorAll("text")].filter(shown)) {
      const own = box(text);
      if (own.left < whole.left - 1 || own.right > whole.right + 1 || own.top < whole.top - 1 || own.bottom > whole.bottom + 1)
        saw.outside.push(`plot: ${name(text)}`);
    }
  }
  apart([...document.body.children].filter((node) => !["SCRIPT", "STYLE"].includes(node.tagName)), "block");
  for (const row of document.querySelectorAll("tr")) apart([...row.children], "cell");
  const rgb = (text) => (text.match(/[\d.]+/g) || [0, 0, 0]).map(Number);
  const light = (color) => color.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const room = (text) => [...text.ownerSVGElement.querySelectorAll("rect.service")].find((r) => overlap(box(r), box(text)));
  for (const node of document.querySelectorAll("p, li, td, th, code, summary, h1, h2, h3, b, .told, .soft, .key, svg text")) {
    if (!shown(node) || !node.textContent.trim()) continue;
    const svg = node.namespaceURI.endsWith("svg"), style = getComputedStyle(node);
    const front = rgb(svg ? style.fill : style.color);
    const service = svg && node.ownerSVGElement.classList.contains("cluster") && room(node);
    const back = service ? rgb(getComputedStyle(service).fill) : behind(svg ? node.ownerSVGElement.parentElement : node);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) saw.faint.push(`${name(node)} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  saw.resources = performance.getEntriesByType("resource").map((one) => one.name);
  saw.width = document.documentElement.scrollWidth - window.innerWidth;
  saw.background = getComputedStyle(document.body).backgroundColor;
  const told = document.createElement("script");
  told.type = "application/json";
  told.id = "saw";
  told.textContent = JSON.stringify(saw).replace(/</g, "\\u003c");
  document.body.appendChild(told);
});
