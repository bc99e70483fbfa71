/* What scrolls sideways is reached by the keyboard too; tables are wrapped by the theme after the page is there. */
function reachable() {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset p:has(> img)")) {
    if (each.scrollWidth > each.clientWidth) {
      each.tabIndex = 0;
    } else {
      each.removeAttribute("tabindex");
    }
  }
}
addEventListener("load", reachable);
addEventListener("resize", reachable);
