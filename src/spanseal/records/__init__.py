"""What a run looks like in spans: shared by those who write them and those who read them. Pure values, no I/O."""
