"""One policy per file. Pure: may import the pure modules of control, genai values, settings' values and errors."""
