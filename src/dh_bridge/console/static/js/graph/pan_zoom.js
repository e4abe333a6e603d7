// Move and zoom an SVG: wheel, drag, buttons, and the keys + and -.

const MIN_SCALE = 0.08;
const MAX_SCALE = 2.5;
const READABLE_SCALE = 0.75;
const STEP = 1.25;
const DRAG_PIXELS = 4;

/**
 * Make the content of an SVG movable.
 * @param {SVGElement} svg
 * @param {SVGElement} content
 * @param {{width: number, height: number}} size of the content
 */
export function makeMovable(svg, content, size) {
  let scale = 1, left = 0, top = 0;
  const apply = () => content.setAttribute("transform", `translate(${left},${top}) scale(${scale})`);
  /** @param {number} factor @param {number} [x] @param {number} [y] */
  const zoom = (factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) => {
    const next = Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale * factor));
    left = x - ((x - left) * next) / scale;
    top = y - ((y - top) * next) / scale;
    scale = next;
    apply();
  };
  const fit = () => {
    scale = Math.min(1, Math.max(MIN_SCALE, Math.min(svg.clientWidth / size.width, svg.clientHeight / size.height)));
    left = (svg.clientWidth - size.width * scale) / 2;
    top = (svg.clientHeight - size.height * scale) / 2;
    apply();
  };
  /** Show all that fits at a size that people can read, around a place. @param {{x: number, y: number}} place */
  const focusOn = (place) => {
    fit();
    if (scale >= READABLE_SCALE) return;
    scale = READABLE_SCALE;
    left = clamp(svg.clientWidth / 2 - place.x * scale, svg.clientWidth - size.width * scale);
    top = clamp(svg.clientHeight / 2 - place.y * scale, svg.clientHeight - size.height * scale);
    apply();
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const begin = { x: event.clientX - left, y: event.clientY - top, clientX: event.clientX, clientY: event.clientY };
    let isDragged = false;
    /** @param {PointerEvent} move */
    const onMove = (move) => {
      if (!isDragged && Math.hypot(move.clientX - begin.clientX, move.clientY - begin.clientY) < DRAG_PIXELS) return;
      isDragged = true;
      svg.classList.add("dragging");
      left = move.clientX - begin.x;
      top = move.clientY - begin.y;
      apply();
    };
    const onEnd = () => {
      svg.classList.remove("dragging");
      window.removeEventListener("pointermove", onMove);
      if (isDragged) svg.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
    };
    window.addEventListener("pointermove", onMove);
    window.addEventListener("pointerup", onEnd, { once: true });
  });
  return {
    zoomIn: () => zoom(STEP), zoomOut: () => zoom(1 / STEP), fit, focusOn,
    /** Move another content from now on. @param {SVGElement} other @param {{width: number, height: number}} otherSize */
    replace: (other, otherSize) => { content = other; size = otherSize; apply(); },
  };
}

/** Return the offset of content: centred if it fits, else without empty space at its ends. @param {number} offset @param {number} room*/
function clamp(offset, room) {
  return room >= 0 ? room / 2 : Math.min(0, Math.max(room, offset));
}
