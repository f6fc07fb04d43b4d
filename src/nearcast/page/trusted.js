// Nothing becomes HTML here. Where the browser enforces trusted types, this policy is the only one there can be, and it
// lets a single string through: the one with which Leaflet finds out whether the browser knows SVG.

const HARMLESS = "<svg/>";

globalThis.trustedTypes?.createPolicy("default", {
  createHTML: (text) => (text === HARMLESS ? text : null),
});
