"""Tables, plots and pages for people."""
