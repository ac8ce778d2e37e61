"""The loop that asks a model, checks, decides, acts, and asks again."""
