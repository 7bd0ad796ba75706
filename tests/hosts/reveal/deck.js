// The deck of a lecture. Its numbers of a slide and its address are left alone, so that nothing is in the history.
Reveal.initialize({ hash: false, transition: "none", controls: true });
