"""An application whose clients several instrumentations watch at once: the real packages, a process a combination."""
