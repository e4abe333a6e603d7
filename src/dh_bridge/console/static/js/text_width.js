// Texts that fit a width: the end of a long name stays, as it tells more than its beginning.

const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/**
 * Return a text that is at most `width` pixels wide.
 * @param {string} text
 * @param {string} font weight and size, such as "600 12px"
 * @param {string} family a variable of the design system, such as "--font"
 * @param {number} width
 */
export function shortenTo(text, font, family, width) {
  context.font = `${font} ${getComputedStyle(document.documentElement).getPropertyValue(family)}`;
  if (context.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (context.measureText(`…${text.slice(middle)}`).width <= width) high = middle;
    else low = middle + 1;
  }
  return `…${text.slice(low)}`;
}
