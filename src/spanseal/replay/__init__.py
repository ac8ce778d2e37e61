"""Reading recorded runs: from an audit store or export files to values and pictures. Nothing here executes a run."""
