"""What `spanseal demo` runs: a real model, two tools, checks, control, a seal and its proof."""
