"""The guard: its rules, a world to try them in, and the program."""
