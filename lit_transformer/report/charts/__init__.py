"""The charts of reports as Vega-Lite: one definition of each, for the page and for pictures."""
