// SPDX-License-Identifier: BSD-3-Clause
// Checks of a page, as bodies of JavaScript functions. Those that return lists return the faults.
#pragma once

#include <string>

namespace cinnabar::test {

// Elements beyond the right edge of the window, except inside a box that scrolls.
inline constexpr const char* beyond_the_screen = R"js(
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth <= width) return [];
return [...document.body.querySelectorAll('*')]
  .filter(e => e.getBoundingClientRect().right > width + 1 && !e.closest('.scroll'))
  .map(e => e.tagName + ' ' + (e.textContent || '').slice(0, 40));
)js";

// The boxes of that class whose content is wider than they are.
inline std::string boxes_that_scroll(const std::string& of_class) {
    return "return [...document.querySelectorAll('." + of_class +
           "')].filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent.slice(0, 40));";
}

// Text with a contrast to its background below 4.5 (WCAG 2, AA), or smaller than 9 pixels.
inline constexpr const char* hard_to_read = R"js(
const channels = text => text.match(/[\d.]+/g).map(Number);
const luminance = rgb => {
  const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const [r, g, b] = rgb.slice(0, 3).map(v => linear(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  for (let e = element; e; e = e.parentElement) {
    const color = channels(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const wrong = [];
for (const element of document.body.querySelectorAll('*')) {
  const own = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join('');
  const box = element.getBoundingClientRect();
  if (!own || box.width === 0 || ['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const inSvg = element instanceof SVGElement;
  const text = luminance(channels(inSvg ? style.fill : style.color));
  const page = luminance(behind(element));
  const contrast = (Math.max(text, page) + 0.05) / (Math.min(text, page) + 0.05);
  const size = parseFloat(style.fontSize) * (inSvg ? element.getScreenCTM().a : 1);
  if (contrast < 4.5 || size < 9)
    wrong.push(own.slice(0, 40) + ': contrast ' + contrast.toFixed(2) + ', ' + size + ' px');
}
return wrong;
)js";

// Text of a plot that overlaps other text, or is cut off by the edge.
inline constexpr const char* texts_that_meet = R"js(
const wrong = [];
for (const svg of document.querySelectorAll('svg')) {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll('text')].map(e => [e.textContent, e.getBoundingClientRect()]);
  boxes.forEach(([text, box], i) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
        box.bottom > frame.bottom + 1)
      wrong.push(text + ' is cut off');
    for (const [other, its] of boxes.slice(i + 1)) {
      if (box.left < its.right && its.left < box.right && box.top < its.bottom - 3 && its.top < box.bottom - 3)
        wrong.push(text + ' meets ' + other);
    }
  });
}
return wrong;
)js";

// Resources that the page would load from other hosts.
inline constexpr const char* comes_from_elsewhere = R"js(
return [...document.querySelectorAll('[src], link[href]')].map(e => e.src || e.href)
  .filter(from => !from.startsWith('data:') && !(from.startsWith(location.origin) && location.protocol !== 'file:'));
)js";

inline constexpr const char* is_dark = R"js(
const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
return r + g + b < 3 * 128;
)js";

// The marks of points that are drawn inside their plots.
inline constexpr const char* points_shown = R"js(
return [...document.querySelectorAll('.point')].filter(point => {
  const box = point.getBoundingClientRect();
  const frame = point.ownerSVGElement.getBoundingClientRect();
  return box.width > 1 && box.left >= frame.left - 1 && box.right <= frame.right + 1 && box.top >= frame.top - 1 &&
    box.bottom <= frame.bottom + 1;
}).length;
)js";

// The number of points in each line of a plot, without those of legends.
inline constexpr const char* points_of_lines = R"js(
return [...document.querySelectorAll('figure > svg polyline')].map(line => line.points.numberOfItems);
)js";

}  // namespace cinnabar::test
