import { useData, withBase } from "vitepress";
import Theme from "vitepress/theme-without-fonts";
import { defineComponent, h } from "vue";
import "./style.css";

/** Links to the page's Markdown and, if it is written by hand, to its source. */
const PageLinks = defineComponent(() => {
  const { page, frontmatter } = useData();
  return () => {
    const { source } = frontmatter.value;
    const markdown = h("a", { href: withBase(`/${page.value.relativePath}`), target: "_self" }, "Markdown");
    const file = h("a", { href: source }, "Source");
    return h("p", { class: "page-links" }, source === undefined ? [markdown] : [markdown, file]);
  };
});

/** What a terminal shows, on the first page. */
const Terminal = defineComponent(() => {
  const { frontmatter } = useData();
  return () => h("pre", { class: "terminal" }, frontmatter.value.terminal);
});

export default {
  extends: Theme,
  Layout: () => h(Theme.Layout, null, { "doc-before": () => h(PageLinks), "home-hero-image": () => h(Terminal) }),
};
