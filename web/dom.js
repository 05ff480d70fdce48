// Elements of the page. Clients choose names and keys, so texts are never markup.

export const byId = id => document.getElementById(id);

/** Creates an element. Attributes that are undefined are left out. */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Sets a text only if it differs, so that a screen reader does not read it again. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Replaces the children only if they differ, so that none of them loses the focus. */
export function setChildren(target, children) {
  const same = target.children.length === children.length &&
               children.every((child, i) => child === target.children[i]);
  if (!same) target.replaceChildren(...children);
}

/** Shows [name, value, whether it is bad] in a list of definitions. */
export function showFacts(list, facts) {
  list.replaceChildren(...facts.map(([name, value, bad]) =>
      element('div', {class: bad ? 'bad' : undefined}, element('dt', {}, name),
              element('dd', {}, value))));
}
